"""Characters and words of values: their one form, and the words that :mod:`siming_tasks.parsing.grammar` speaks of."""

from __future__ import annotations

import re

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x2212: 0x2D}
_ZERO_WIDTH = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF, 0xFE0E, 0xFE0F])
_NO_WIDTH = re.compile(f"[{''.join(map(chr, _ZERO_WIDTH))}]")
_CONTROLS = [*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0)]
_ORDER = [0x61C, 0x180E, *range(0x202A, 0x202F), *range(0x2065, 0x2070)]
_UNSEEN = _ZERO_WIDTH | dict.fromkeys([*_CONTROLS, *_ORDER])
_OUTER = " \t\r\n*_`'\"“”‘’。.!"


_TRADITIONAL = str.maketrans(
    "錯誤確對無沒發現評數滿該驟執為學員動給應總結論斷標準過淺說壓環識開機潔備個這們來總與據認後時間張關節導監測備檢查偵"
    "擊電極貼連氣複復進遲緩雙側輕聲邊條幀鐘師讓還當違規點從兩緊乾書處満",
    "错误确对无没发现评数满该骤执为学员动给应总结论断标准过浅说压环识开机洁备个这们来总与据认后时间张关节导监测备检查侦"
    "击电极贴连气复复进迟缓双侧轻声边条帧钟师让还当违规点从两紧干书处满",
)

LANGUAGES: dict[str, dict[str, str]] = {
    "German": {
        "not correct": "nicht korrekt, nicht richtig, nicht vollständig korrekt, nicht ganz korrekt",
        "correct": "korrekt, richtig, fehlerfrei",
        "incorrect": "inkorrekt, falsch, fehlerhaft, unkorrekt, nicht fehlerfrei",
        "no error": "kein fehler, keine fehler, ohne fehler",
        "error": "fehler",
        "fully": "vollständig, völlig",
        "partially": "teilweise",
        "score": "punktzahl, punktwertung, punktestand",
        "points": "punkte, punkt, punkten",
        "rating": "bewertung",
        "verdict": "urteil",
        "result": "ergebnis",
        "reason": "begründung",
        "total": "gesamt, gesamtpunktzahl, insgesamt",
        "deduction": "abzug, punktabzug",
        "maximum": "höchstpunktzahl, maximal",
        "the step": "der schritt",
        "step": "schritt",
        "i give": "ich vergebe, ich gebe",
        "i would give": "ich würde",
        "performed": "durchgeführt, ausgeführt",
        "was": "wurde, war",
        "is": "ist",
        "not": "nicht",
        "yes": "ja",
        "no": "nein",
    },
    "French": {
        "correct": "correcte, exact, réussi, réussie",
        "incorrect": "incorrecte, faux, fausse, pas correct, pas correcte, non correct, non correcte, erroné, erronée",
        "no error": "aucune erreur, sans erreur, pas d'erreur",
        "error": "erreur",
        "fully": "entièrement, totalement, parfaitement",
        "partially": "partiellement",
        "verdict": "jugement",
        "result": "résultat",
        "reason": "raison, justification",
        "deduction": "déduction, pénalité",
        "the step": "l'étape",
        "step": "étape",
        "i give": "j'attribue, je donne",
        "is": "est",
        "yes": "oui",
    },
    "Spanish": {
        "correct": "correcto, correcta",
        "correctly": "correctamente",
        "incorrect": "incorrecto, incorrecta",
        "incorrectly": "incorrectamente",
        "no error": "sin errores, sin error, ningún error",
        "fully": "completamente, totalmente",
        "partially": "parcialmente",
        "score": "puntuación, puntuacion, puntaje, calificación, calificacion",
        "points": "puntos, punto",
        "verdict": "veredicto",
        "result": "resultado",
        "reason": "razón, justificación, motivo",
        "deduction": "deducción, penalización",
        "maximum": "máximo, máxima",
        "the step": "el paso",
        "step": "paso",
        "i give": "le doy, doy",
        "was performed": "se realizó, fue realizado",
        "yes": "sí",
    },
    "Portuguese": {
        "correct": "correto, correta",
        "incorrect": "incorreto, incorreta, errado, errada",
        "no error": "sem erro, sem erros, nenhum erro",
        "score": "pontuação, pontuacao",
        "points": "pontos, ponto",
        "verdict": "veredito",
        "not": "não",
        "yes": "sim",
    },
    "Italian": {
        "correct": "corretto, corretta",
        "incorrect": "errato, errata, scorretto, scorretta, sbagliato",
        "no error": "nessun errore, senza errori",
        "score": "punteggio",
        "points": "punti",
        "verdict": "giudizio, verdetto",
    },
    "Russian": {
        "correct": "верно, правильно, корректно, без ошибок",
        "incorrect": "неверно, неправильно, некорректно, ошибочно",
        "no error": "ошибок нет, нет ошибок",
        "error": "ошибка, есть ошибка",
        "score": "оценка",
        "points": "балла, баллов, балл, очка, очков, очко",
        "reason": "причина, обоснование",
        "step": "шаг",
        "not": "не",
        "yes": "да",
        "no": "нет",
    },
    "Japanese": {
        "correct": "正しい, 正しいです, 適切, 適切です, 正确です",
        "incorrect": "不正解, 誤り, 誤りです, 不適切, 不適切です, 不正确です, 正しくない, 適切でない, 間違い",
        "no error": "誤りなし, 間違いなし",
        "score": "得点, スコア, 点数, 評価点, 採点",
        "rating": "評価",
        "reason": "理由",
        "step": "ステップ",
        "yes": "はい",
        "no": "いいえ",
    },
    "Korean": {
        "correct": "정확함, 정확, 정확합니다, 올바름, 올바릅니다, 맞음, 옳음, 정답",
        "incorrect": "부정확함, 부정확, 부정확합니다, 틀림, 오답, 잘못됨, 올바르지 않음, 정확하지 않음",
        "no error": "오류 없음, 오류없음",
        "error": "오류",
        "score": "점수, 득점",
        "rating": "평가",
        "verdict": "판정",
        "reason": "이유, 근거",
        "step": "단계",
        "yes": "예",
        "no": "아니오, 아니요",
    },
}
"""Words of other languages, by the English word whose meaning they have; English and Chinese are in the grammar."""


def _by_word() -> dict[str, str]:
    table: dict[str, str] = {}
    for entries in LANGUAGES.values():
        for english, foreign in entries.items():
            table |= dict.fromkeys(foreign.translate(_TRADITIONAL).split(", "), english)
    return table


_ENGLISH = _by_word()
_FOREIGN = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(re.escape(word) for word in sorted(_ENGLISH, key=len, reverse=True))})(?![^\W_])"
)
_POINTS_OF = re.compile(
    r"(?<=[0-9]) ?(?P<unit>[点점](?:です|입니다)?(?![^\W\d_]))"
    r"|(?<=[0-9]) ?(?:(?P<points>points) )?(?:von|sur|de|su|из) (?=[0-9])"
)
"""``4点`` and ``3 von 5``, ``3 points sur 5``."""
_TOP_FIRST = re.compile(
    r"(?P<top>[0-9]{1,3}) ?[点점] ?(?:满点|만점)?(?:中|で|에|중)? ?(?P<value>[0-9]{1,3}(?:\.5)?) ?[点점]"
)
"""``5点満点中4点``."""


def in_english(text: str) -> str:
    """A folded text with words of :data:`LANGUAGES` in English, so that they mean what they mean there."""
    if text.isascii() and not _FOREIGN.search(text):
        return _POINTS_OF.sub(_of, text)
    text = _TOP_FIRST.sub(r"\g<value>/\g<top>", text)
    return _POINTS_OF.sub(_of, _FOREIGN.sub(lambda word: _ENGLISH[word[0]], text))


def _of(match: re.Match[str]) -> str:
    return " points" if match["unit"] else f"{' points' if match['points'] else ''} of "


def fold_name(text: str, *, fold: bool = True) -> str:
    """A name in one form: full-width characters made plain, control and formatting characters removed, lower case."""
    text = text.translate(_WIDE).translate(_UNSEEN).strip(_OUTER)
    return in_english(text.casefold().translate(_TRADITIONAL)) if fold else text


def fold_value(text: str, outer: str = _OUTER) -> str:
    """A value in one form: as :func:`fold_name`, but marks that change the reading order stay and spoil it."""
    return in_english(fold_sentence(text, outer).translate(_TRADITIONAL))


def fold_sentence(text: str, outer: str = _OUTER) -> str:
    """A sentence in one form: as :func:`fold_value`, but in its own language."""
    return text.translate(_WIDE).translate(_ZERO_WIDTH).strip(outer).casefold()


def strip_invisible(text: str) -> str:
    """The text without the characters that have no width."""
    return _NO_WIDTH.sub("", text)


def _phrases(text: str) -> frozenset[str]:
    return frozenset(re.split(", |\n", text))


CORRECT = _phrases(
    "correct, right, no error, no errors, error free, errorless, without error, without errors, correctly performed\n"
    "performed correctly, not incorrect, not wrong, fully correct, pass, completely correct, no error detected\n"
    "no errors detected, no deviation, no deviations, passed, no mistake, no mistakes, performed fully correctly\n"
    "no error found, no errors found\n"
    "正确, 对, 无误, 没有错误, 无错误, 操作正确, 完全正确, 未发现错误, 无偏差, 没有偏差"
)
INCORRECT = _phrases(
    "incorrect, wrong, erroneous, not correct, not right, incorrectly performed, fail, failed, performed incorrectly\n"
    "not performed correctly, not correctly performed, 不正确, 不对, 错, 操作不正确, 执行不正确"
)
ERROR = _phrases(
    "error, has error, has an error, has errors, with error, with errors, contains error, contains errors, mistake\n"
    "error detected, errors detected, error present, error found, deviation, has deviation\n"
    "错误, 有误, 有错误, 存在错误, 操作错误, 有偏差, 存在偏差"
)
SYMBOLS = dict.fromkeys("✅✓✔☑√", 0.0) | dict.fromkeys("❌✗✘×☒✖", 1.0)
"""Signs that are verdicts, but not under an "error?" key, where a tick may mean either."""

YES = _phrases("yes, y, true, 1, present, detected, found, 是, 有, 存在, 真")
NO = _phrases(
    "no, n, false, 0, none, absent, not detected, not present, not found, nil\n"
    "否, 无, 没有, 不存在, 不是, 未发现, 未检出, 假"
)
NO_VALUE = _phrases(
    "null, none, n/a, na, not applicable, unknown, not visible, cannot determine, 无法判断, 不适用, 未知"
) | {""}
NOT_VISIBLE = "not visible"
"""Words in prompts and files in place of an answer to a step that cannot be judged from what is shown."""
ABSTENTIONS = _phrases(
    "not visible, not observable, cannot determine, cannot be determined, cannot judge, cannot be judged\n"
    "cannot be seen, 不可见, 看不到, 无法判断"
)
"""That a step is not visible, where a reply may say so."""
NUMBER_FORMS = (
    *("2", "2.0", "2 points", "2分", "2/{m}", "2 / {m} points", "2 out of {m}", "2 (out of {m})", "2（满分{m}分）"),
    *("2/{m} - only 1 shoulder", "2 (too shallow)", "Score: 2", "得分：2分"),
)
"""Ways to write 2 points out of ``{m}``."""
