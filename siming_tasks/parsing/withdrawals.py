"""Words of a sentence that take the answers of a reply away: nothing was seen, they are invented, or not its own.

The sentences are folded (:func:`siming_tasks.parsing.lexicon.fold_value`). English and Chinese have most forms, German,
French, Spanish, Japanese and Korean the commonest.
"""

from __future__ import annotations

import re

from siming_tasks.parsing.titles import ANSWERS, COURTESY


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MEDIA = r"(?:videos?|clips?|footage|frames?|images?|pictures?|recordings?|visuals?|attachments?|media|files?|stills?)"
_GIVEN = (
    r"(?:provided|attached|available|visible|given|included|received|uploaded|supplied|shared|accessible|loaded|sent"
    r"|present|shown|viewable|playable|reach(?:ed)?)"
)
_ANY = (
    r"(?:(?:the|this|that|any|your|an?|of|to|actual|real|attached|provided|full|whole|entire|input|exam|raw"
    r"|single)\s+)*"
)
_UNSEEN = re.compile(
    rf"\b(?:no|without(?: any| the)?) (?:\w+ )?{_MEDIA} (?:content |input |data )?(?:(?:was|were|is|are|has|have"
    rf"|had|being"
    rf"|been|actually|could|can|be) )*{_GIVEN}\b"
    rf"|\b{_MEDIA} (?:content |input |file )?(?:was|were|is|are|could|can|did|has|have|had)(?: ?not|n't| never)"
    rf" (?:been |be |actually |properly )*(?:{_GIVEN}|load|open(?:ed)?|play(?:ed)?|process(?:ed)?|view(?:ed)?"
    rf"|access(?:ed)?"
    r"|seen|come through|reach|decod\w+|display\w*|render\w*|read)\b"
    r"|\b(?:can ?not|can't|could not|couldn't|do not|don't|did not|didn't|have not|haven't|am unable to|unable to"
    r"|not able to|never|without(?: having| being able to)?)"
    r" (?:(?:actually|directly|really|physically|currently|even|possibly) )?(?:see(?:ing|n)?|saw|view(?:ing|ed)?"
    r"|watch(?:ing|ed)?|access(?:ing|ed)?|receiv(?:e|ed|ing)|get|got|open(?:ed|ing)?|play(?:ing)?|process(?:ing|ed)?"
    r"|observ(?:e|ed|ing)|look(?:ed|ing)? at|have (?:access to)?|access to|inspect(?:ed|ing)?|analy[sz](?:e|ed|ing))"
    rf" {_ANY}{_MEDIA}\b(?! (?:of|that|where|in which|with|at|from|between))"
    r"|\bwithout (?:the |any |a )?(?:video|footage|pictures|visual(?:s| evidence| input| access)|frames|images)\b"
    rf"|\b{_MEDIA} (?:failed to load|(?:is|was|were|are) (?:missing|absent|not there|unavailable|inaccessible"
    rf"|blank|black|corrupt))"
    r"|\b(?:i|we) (?:have|had|got|see|saw|received) (?:been given )?no "
    rf"(?:\w+ )?{_MEDIA}\b"
    r"|\bassum\w+ (?:that )?(?:(?:an?|the|of|some|this|it|was) )*(?:average|typical|standard|normal|ideal|perfect"
    r"|competent"
    r"|hypothetical|generic|usual|flawless|representative|well[- ]trained|median|novice) (?:\w+ )?"
    r"(?:trainee|student|performance|candidate|exam|learner|attempt|execution|performer|participant|case)"
    r"|\b(?:typical|average|generic|hypothetical) (?:trainee|student|candidate|performance|learner)s?\b[^.]{0,30}"
    r"\b(?:assum|would|in place of|instead)"
    rf"|\b{_MEDIA}\b[^.]{{0,30}}\b(?:entirely|completely|totally|all|too) (?:black|blank|dark|empty|white"
    rf"|corrupt\w*|unreadable)\b"
    rf"|\b{_MEDIA} (?:\w+ ){{0,4}}(?:shows?|seems? to show|depicts?) (?:an? )?(?:different|another|other"
    rf"|unrelated|kitchen)\b"
    rf"|\b(?:a )?(?:different|unrelated|another|wrong) (?:procedure|skill|video|exam|scene)\b"
    r"|\bnot the (?:clip|video|exam|recording|footage)\b"
    r"|\bnothing (?:could|can) be (?:judged|assessed|seen|scored|evaluated|credited)\b|\bnot an exam\b"
    r"|\b(?:based|relying|scored|judged|assessed|graded) (?:purely |solely |only |entirely |just )+(?:on|from)"
    r" (?:the |your |this )?(?:text|rubric|description|prompt|instructions?|task|step names?|wording|checklist)\b"
    r"|\bblind(?:ly)? (?:guess|estimate|rating|scores?)"
    # Chinese
    r"|没有?看(?:过|到)?(?:这段|该|任何)?(?:视频|画面)|(?:未|没有?|沒有?|并未|尚未)(?:能|实际|真正|直接)?(?:提供|附上?|收到|看到|看过|上传|接收到?|观看|加载|附带|查看|给出)"
    r"[^。,，]{0,6}(?:视频|影片|图像|图片|帧|画面|影像|录像|附件)"
    r"|(?:视频|影片|图像|图片|帧|画面|影像|录像|附件)[^。,，]{0,4}(?:未|没有?|无法|不能|并未)(?:能|被)?(?:提供|附上?|收到|看到|上传|加载"
    r"|打开|播放|显示|观看|查看|访问|读取)"
    r"|(?:无法|不能|没法|未能)(?:直接|实际|真正)?(?:查看|观看|看到|访问|打开|读取|获取|播放|接收|分析|处理)"
    r"(?:到|这段|该|此|您|你|提供|上传|的|任何|具体|实际)*(?:视频|影片|图像|图片|帧|画面|影像|录像|附件)(?!中|里|内|上)"
    r"|(?:无|没有)(?:视频|图像|图片|画面|影像)(?:输入|可用|可看|信息|内容|资料)?(?=$|[,，;；]|的情况|可|时|下|,)"
    r"|假[设定](?:学员|考生|受试者|操作者|该学员|为|是|一名|一个|一般|普通|平均|典型|标准|[^。]{0,6}(?:平均|普通|一般|典型|标准)水平)"
    r"|(?:仅|只)(?:根据|凭|依据|基于)(?:文字|评分标准|描述|题目|文本|步骤名称)"
    # German, French, Spanish
    r"|\bkeine? (?:\w+ )?(?:videos?|bilder|bild|frames|einzelbilder|aufnahmen?|standbilder"
    r"|videomaterial)\b(?: \w+){0,3} "
    r"?(?:angehängt|vorhanden|bereitgestellt|verfügbar|erhalten|sehen|gesehen|beigefügt|mitgeschickt|vorliegen"
    r"|vor\b|da\b)?"
    r"|\bohne (?:das |die |ein |den )?(?:videos?|bilder|aufnahmen?|clip|frames)\b"
    r"|\b(?:videos?|bilder|clip|aufnahmen?|frames)\b[^.]{0,20}\bnicht (?:sehen|gesehen|öffnen|ansehen|laden"
    r"|angehängt|verfügbar"
    r"|abspielen|beigefügt|geladen|einsehen|sichtbar|vorhanden)"
    r"|\b(?:aucune?|pas (?:de|d'|reçu de)|sans) ?(?:voir |avoir vu |visionner |avoir accès à |la |les |l'"
    r"|une? )*(?:vidéos?|images?"
    r"|clips?|photogrammes?)\b(?! (?:ne |où|montrant))"
    r"|\bne (?:peux|vois|pouvais|puis) pas (?:voir |visionner |accéder à |regarder |ouvrir )?(?:la |les |cette "
    r"|l')?(?:vidéo|images?|clip)"
    r"|\ben supposant (?:un|une|que l[ea]) "
    r"|\b(?:ningún|ninguna|sin)(?: ver| haber visto| acceso a)? ?(?:el |la |los |las |un |una )?(?:vídeos?"
    r"|videos?|im[aá]gen(?:es)?"
    r"|fotogramas?|clip)\b"
    r"|\bno (?:se )?(?:puedo|pude|he podido|podido|adjunt\w+|proporcion\w+|recib\w+|veo|vi|han adjuntado"
    r"|ha adjuntado|tengo|hay)"
    r" (?:ver |acceder a(?:l)? |abrir |visualizar |acceso al? )?(?:el |la |los |las |ningún |ninguna )?(?:vídeos?"
    r"|videos?|im[aá]gen(?:es)?"
    r"|fotogramas?|clip)\b"
    r"|\b(?:suponiendo|asumiendo) (?:un|una|que (?:el|la)) "
    # Japanese, Korean
    r"|(?:動画|映像|画像|フレーム|ビデオ)[^。]{0,12}(?:ありません|なかった|ないため|見られ|見ることができ|確認でき|添付されて"
    r"|提供されて|閲覧でき"
    r"|受け取って)"
    r"|(?:と|を)仮定|(?:영상|동영상|비디오|이미지|프레임|화면)[^.]{0,12}(?:없|못"
    r"|볼 수|확인할 수|첨부되지|제공되지)|가정(?:하|한|했)"
)
"""Sentences which say that no pictures were seen."""

_WHAT = (
    r"(?:json|scores?|points?|marks?|answers?|values?|numbers?|figures|verdicts?|ratings?|results?|response|reply"
    r"|output"
    r"|assessments?|evaluations?|judge?ments?|labels|object|block|grades?|entries|predictions?)"
)
_IT = (
    rf"(?:this|that|these|those|it|they|which|here|below|above|all|everything|zeroe?s|the following|(?:the|my|all"
    rf"|its) (?:\w+ )?{_WHAT})"
)
_IS = r"(?:is|are|was|were|be|been)"
_INVENTED = (
    r"(?:placeholders?|invented|made[ -]up|fabricated|fictional|fictitious|dummy|hypothetical|arbitrar(?:y|ily)"
    r"|random(?:ly)?|guess(?:es|ed|work)?|illustrative|mock|imaginary|simulated|meaningless|templates?|drafts?"
    r"|invalid|void"
    r"|withdrawn|retracted|superseded|obsolete|outdated|defaults?|examples?|samples?|illustrations?|demonstrations?"
    r"|not (?:real|based|valid|final|to be|meant|intended|my own|mine|reliable|trustworthy|genuine|derived)"
    r"|for (?:demonstration|illustration|illustrative|example|testing))"
)
_FORMAT = (
    r"(?:example|sample|illustration)(?: (?:of|for) (?:the|a|an|my|its)"
    r" (?:\w+ )?(?:format|output|json|reply|answer|response|structure))?(?=\W*(?:[.,;!)]|$|since\b|because\b|as\b))"
)
_OTHERS = (
    r"(?:reference|ground[ -]truth|gold(?:[ -]standard)?|official|expert|examiner|instructor|physician|teacher"
    r"|tutor|colleague"
    r"|answer key|consensus|model answer|(?:previous|last|another|other|first|second|earlier|different|best|worst|next)"
    r" (?:rater|examiner|judge|trainee|student|candidate|attempt|exam|video|model|reviewer|assessor|run|session"
    r"|person))"
)
_QUANTITY = (
    r"(?:seconds|frames?|indices|times(?:tamps)?|minutes|deductions?|deducted|lost|penalt\w+|maxim(?:um|ums|a|al)"
    r"|possible|counts?|weights?|confidences?|probabilit\w+|difficult\w+|importance|percent\w*|normali[sz]ed"
    r"|priorit\w+)"
)
_TAKEN_BACK = re.compile(
    r"\b(?:disregard|ignore|discard|retract|withdraw|scrap|delete|(?:do not|don't|please don't|never|not be|cannot be"
    r"|can't be|should not be|shouldn't be) (?:use|used|trust|trusted|rely on|relied on|count|taken?|treat(?:ed)?"
    r"|read))\b"
    rf"[^.\n]{{0,40}}\b(?:{_WHAT}|this|that|these|those|above|it|everything)\b"
    r"|\b(?:scores?|verdicts?|values?|numbers?|answers?|json|these|those|this|it)\b[^.\n]{0,30}\b(?:should not"
    r"|shouldn't"
    r"|cannot|can't|must not|may not|not to) be (?:used|trusted|relied|taken|counted|treated|read)\b"
    rf"|\b{_IT}\b[^.\n]{{0,30}}\b{_IS}\b (?:\w+ ){{0,3}}{_INVENTED}\b(?! (?:of|that) the (?:trainee|step))"
    r"|\b(?:scores|verdicts|values|numbers|answers|ratings|results|json|these|those)\b[^.\n]{0,20}\b(?:are|is|were)\b"
    r" (?:all )?(?:wrong|incorrect|inaccurate|not (?:correct|right|accurate|the))\b"
    rf"|\bi (?:\w+ )?(?:made|invented|guessed|fabricated|copied|took|randomi[sz]ed"
    rf"|chose)\b[^.\n]{{0,30}}\b(?:{_WHAT}|these"
    r"|those|them|this|it)\b[^.\n]{0,12}(?:\bup\b|\bat random\b|\bfrom\b|$|\.|,|\bbecause\b|\bsince\b|\bas\b)"
    rf"|\b(?:placeholder|dummy|made[ -]up|invented|random|hypothetical|fictional|fabricated|guessed"
    rf"|mock) (?:\w+ )?{_WHAT}\b"
    rf"|\b(?:this|it|that|which)(?: {_WHAT})? (?:is|was) (?:only |just |merely |purely |simply )?(?:an? |the "
    rf"|my )?{_FORMAT}"
    rf"|\b{_IT}\b[^.\n]{{0,30}}\b(?:{_IS}|come|came|comes|copied|taken|belongs?|given|assigned|stems?|according"
    rf"|from|by)\b"
    rf"(?: (?:\w+ ){{0,3}}|[^.\n]{{0,24}}\b(?:by|from|of|to) (?:\w+ ){{0,2}}){_OTHERS}(?:s|'s|s')?\b"
    rf"|\b{_IT}\b[^.\n]{{0,20}}\b(?:{_IS}|counts?|represents?|means?|denotes?|indicates?|gives?)"
    rf" (?:the |in |all |only |number of |how many |points? )*{_QUANTITY}\b(?! (?:visible|seen|shown|provided"
    rf"|available))"
    r"|\b(?:zero|one|two|[012])\W{0,2} (?:means?|=|stands for|denotes?|indicates?) (?:\w+ ){0,2}(?:correct"
    r"|incorrect|wrong|error|fail"
    r"|pass|best|worst|ok\b)"
    r"|\b(?:higher|lower|larger|smaller|more|fewer)(?: (?:scores?|values?|numbers?|points?))? (?:is|are|means?"
    r"|=) (?:worse|better|best|worst|more errors)"
    r"|\b(?:verdicts?|labels?|scores?|values?|scale|meaning|coding)\b[^.\n]{0,20}\b(?:inverted|reversed|swapped"
    r"|flipped|the other way)"
    r"|\b(?:scores|verdicts|values|numbers|answers)\b would (?:be|have been)\b"
    r"|\bnot meant (?:as|to be)\b|\bfollows? in (?:a|the|my) (?:second|next|another|separate|other) "
    r"|\botherwise\b[^.\n]{0,15}\b(?:[0-9]|(?:in)?correct)\b"
    r"|\b(?:take (?:that|this|it|them|everything|all of it) back|never ?mind|mix(?:ed)?[ -]up (?:the|my|two|some|these)"
    r"|demonstration only|for demonstration|simulated (?:response|reply|answer|output)|demo only|test (?:output"
    r"|reply))\b"
    r"|\bi (?:\w+ )?(?:swapped|mixed|confused|interchanged|reversed|filled in|defaulted)\b"
    r"|\b(?:should|must|need to|have to) be (?:swapped|interchanged|reversed|exchanged)\b"
    r"|\b(?:subtract|deduct|add|take off|lower|raise|reduce|increase)\b[^.\n]{0,40}\b(?:from|to|for|on"
    r"|by) (?:every|each|all|the \w+ (?:step|part)|one|a)\b"
    r"|\b(?:should|must) (?:all |each |really |actually )?(?:be|have been) (?:one|two|a|half a"
    r"|[0-9]) (?:points? )?(?:point )?(?:lower|higher|less|more)\b"
    r"|(?:以上|上述|这些|下面|以下|此)[^。\n]{0,12}(?:示例|虚构|编造"
    r"|占位|随机|假设|作废|忽略|无效|猜测|臆测|样例|模板|草稿|不作数|并非真实)"
    r"|请?(?:忽略|无视|不要使用|勿使用|不要采信)(?:以上|上述|上面|这些|之前)|我(?:撤回|收回)|(?:随机|随意|随便)(?:编|填|给|写)"
    r"|(?:以上|上述|这些|分数|评分|结果)[^。\n]{0,10}(?:参考答案|标准答案|专家|考官|其他评委|上一次|上次)"
    r"|\b(?:geraten|zufällig|au hasard|al azar)\b|推測で|추측"
    r"|\b(?:platzhalter|erfunden\w*|ausgedacht|beispielwerte|inventad[oa]s?|ficticios?|fictifs?|fictives?"
    r"|inventée?s?)\b"
    r"|\b(?:nur|lediglich) (?:ein )?beispiele?\b|\b(?:solo|sólo) (?:un |son )?ejemplos?\b|\bson ejemplos?\b"
    r"|\bsimples? exemples?\b"
    r"|例です|サンプルです|예시(?:입|일|이)|ダミー|仮の(?:値|点|スコア|評価)|無視して|임의(?:로|의)|무시(?:하|해)"
)
"""Sentences that take back all that was answered, call it invented, or say that it is another's or something else."""


_SPOKEN_OF = re.compile(
    r"\b(?:json|scores|values|numbers|figures|answers?|verdicts|ratings|results|response|reply|output|labels"
    r"|something like|(?:the|all) (?:above|below)|(?:above|below) (?:is|are|was|were)|all of (?:this|that|it)"
    r"|disclaimer|(?:stand|stood) (?:behind|by)"
    r"|(?:any|all|none|each|most|some) of (?:these|those|them|the above)(?! ?\w)"
    r"|nothing to (?:judge|score|rate|assess|grade)"
    r"|(?:these|those) (?:are|were|is|was|come|came|should|must|do|have|can|may|might|cannot|belong|follow))\b"
)
"""Words that speak of the answer as a whole."""
_AHEAD = re.compile(r"\b(?:following|below|these|this|that|here)\b(?!.*[:：]\W*$)|\b(?:be|is|are|like|reads?)\W*$")
"""Words before an answer that speak of it; a line that ends with a colon is a title, and has its own rules."""
_HARMLESS = (
    ANSWERS
    | COURTESY
    | _set(
        "note notes that this are based on the only visible frames frame reflect reflects reflecting what can be "
        "seen could observed shown from according to strictly rubric rubrics provided video videos clip clips "
        "image images pictures reasoning reasons reason justification justifications explanation explanations "
        "rationale analysis evidence each both every in available audio sound speech were was heard audible "
        "determined derived assigned given awarded using use used criteria criterion total totals sum out points "
        "point score observation observations observable footage sequence order posture gestures rest rests alone "
        "and with within about how they them their there which why because of for by at per as also valid object "
        "key keys id ids single exactly requested format text additional extra final review reviewing reviewed "
        "again after carefully watching viewing analyzing analysing examining careful summary detailed breakdown "
        "support supports supporting explain explains explained correspond corresponds represent represents show "
        "shows list lists contain contains trainee trainee's trainees candidate student performance performed "
        "boxed stand stands remain remains unchanged stay same sampled selected extracted still stills keyframes "
        "visual best ability understanding limited resolution quality camera angle view recorded conditions "
        "guidelines instructions standard standards full entire short brief clear easy copy parse machine readable "
        "suitable entry entries required one two three four five below above complete completed others else "
        "everything steps step respectively s other reached analysed analyzed evaluated examined watched viewed came "
        "arrived concluded comparing compared comparison action actions behaviour behavior solely purely summarised "
        "summarized integer integers whole obtained produced generated here's thorough thoroughly close closely "
        "resulting made outlined presented reported following applying applied"
    )
)
"""Words of sentences that speak of the answer and change nothing."""
_OFFERS = re.compile(
    r"\W*(?:please )?(?:let me know|feel free|would you like|do you (?:want|need)|if you(?:'d| would| need| want"
    r"| have| like)"
    r"|i(?:'d| would) be (?:happy|glad)|i can (?:also|provide|explain|give|elaborate)|i hope|happy to|shall i|should i"
    r"|you can|thank)"
)
_OWN = re.compile(
    rf"\b(?:my|our) (?:\w+ ){{0,2}}{_WHAT}\b|\bi (?:have |would |'d |'ve )?(?:assign|give|gave|award|rate|score"
    rf"|judge|assess)\w*\b"
)
_MODAL = re.compile(
    r"\b(?:would|could|might|may|if|unless|had|were to|suppose|supposing|imagine|pretend|not|never|n't)\b"
)
_HAN_SPOKEN_OF = re.compile(
    r"以上|上述|这些(?:分数|评分|结果|判断|数值)|(?:评分|结果|分数|判定)(?:仅|不|只|是|为|由|来自)"
)
_HAN_HARMLESS = re.compile(
    r"以上|上述|这些|分数|评分|得分|结果|判断|判定|打分|评估|评价|各步骤|步骤|每个|每一|仅供参考|供参考|基于|根据|依据|来自|视频|画面|可见|帧"
    r"|图像|内容|观察|标准|量表|总分|为|是|的|由|按照?|所|看到|提供|中|和|与|及|对|我|最终|本次|如下|完整|详细|严格|学员|考生|受试者|表现|仅|只|了|就"
)
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_SPOKEN_OF_ABROAD = re.compile(
    r"\b(?:bewertung(?:en)?|(?<![0-9] )punkte|punktzahl(?:en)?|urteile?|antworten?|ergebnisse?|alles|notes?"
    r"|réponses?|résultats?|verdicts|jugements?|puntuaci(?:ón|ones)|respuestas?|resultados?|veredictos?|todo)\b"
    r"|上記|以上|点数|スコア|採点|위 |점수|채점|판정"
)
"""Words of German, French, Spanish, Japanese and Korean that speak of the answer as a whole."""
_ABROAD = re.compile(
    r"[ßäöüàâçéèêëîïôùûñáíóú¿¡\u3040-\u30ff\uac00-\ud7af]|\b(?:ich|diese|nur|und|ist|sind|bitte|je|ces|elles"
    r"|estas|esta|son|las|les|des|der|die|das|alles)\b"
)
"""Signs and words that show a sentence of these languages."""
_HARMLESS_ABROAD = _set(
    "die der das den dem des diese dieser dies meine mein bewertung bewertungen punkte punktzahl punktzahlen urteil "
    "urteile antwort antworten ergebnis ergebnisse basiert basieren beruht beruhen auf sichtbaren sichtbar bildern "
    "bilder video videos frames einzelbilder einzelbildern rubrik kriterien schritt schritte und ist sind "
    "im in an am mit von für nach gemäß anhand hier oben unten folgt json alles gut andere bleibt bleiben so stehen "
    "begründung gezeigten gegebenen bereitgestellten ausschnitt aufnahme folgende folgenden erfolgt erfolgte "
    "les la le l ces ce cette mes ma notes note réponse réponses résultat résultats verdicts jugement jugements sont "
    "est basées basés basée fondées fondées reposent repose sur images image visibles vidéo grille critères étape "
    "étapes et de des du d en voici ci dessus dessous au aux selon par "
    "las los el lo estas esta este mis mi puntuaciones puntuación respuesta respuestas resultado resultados veredicto "
    "veredictos son es basan basa basadas basada imágenes imagen fotogramas visibles visible vídeo rúbrica criterios "
    "paso pasos y del al según por aquí arriba abajo todo demás queda igual "
    "cpr aed bmv s"
)
_HARMLESS_KANA = re.compile(
    r"上記|以上|点数|スコア|採点|評価|結果|は|が|の|に|を|で|と|も|基づ(?:いて|き)|います|です|ます|である|した|して|しました|映像|動画|画像|フレーム"
    r"|見える|確認できる|範囲|基準|各|ステップ|手順|合計|点|満点|위|점수|채점|판정|결과|는|은|이|가|을|를|의|에|로|으로|따라|따른|기준|기준으로|기반으로|영상|화면"
    r"|프레임|보이는|단계별?|각|총점|점|입니다|합니다|했습니다|하였습니다|기반|근거|평가|평가는|한|것|중|총|만점|이상"
)


def speaks_otherwise(sentence: str, *, before: bool = False) -> bool:
    """Test whether a folded sentence that speaks of the answer says something that no harmless one says.

    An allow-list: only words of courtesies, announcements and sources ("these scores are based on the visible frames")
    leave the answer as it is. ``before``: it stands before the answer, which it may not speak of.
    """
    if _OFFERS.match(sentence) or (before and not _AHEAD.search(sentence)):
        return False
    if _HAN_SPOKEN_OF.search(sentence):
        return re.search(r"[\u3400-\u9fff]", _HAN_HARMLESS.sub("", sentence)) is not None
    if not before and _SPOKEN_OF_ABROAD.search(sentence) and _ABROAD.search(sentence):
        rest = {*re.findall(r"[^\W\d_\u3000-\uffff]+", sentence)} - _HARMLESS_ABROAD
        if rest or re.search(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", _HARMLESS_KANA.sub("", sentence)):
            return True
    if not _SPOKEN_OF.search(sentence) or (_OWN.search(sentence) and not _MODAL.search(sentence)):
        return False
    return not {*_WORD.findall(sentence)} <= _HARMLESS


def is_unseen(sentence: str) -> bool:
    """Test whether a sentence says that its writer saw no pictures."""
    return _UNSEEN.search(sentence) is not None


def withdraws(sentence: str) -> bool:
    """Test whether a sentence takes back, or calls invented, another's or another quantity, what was answered."""
    return _TAKEN_BACK.search(sentence) is not None
