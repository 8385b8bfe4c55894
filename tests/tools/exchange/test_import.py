"""``siming run import``: replies made by Inspect and VLMEvalKit, in files that these wrote or as they write them."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from siming_tasks.cli import main
from siming_tasks.data import Dataset
from siming_tasks.results.read_predictions import load_predictions
from siming_tasks.results.run import score_predictions
from tests.plugin.hooks.conftest import docs, reply

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "elsewhere.md"
FAILED = "Failed to obtain answer via API. "


def rows(run: Dataset, name: str) -> list[dict[str, Any]]:
    return [
        {"index": doc["id"], "question": "…\n,\t", "answer": "", "prediction": reply(doc, "rater_a")}
        for doc in docs(name)
    ]


def save(rows: list[dict[str, Any]], path: Path) -> Path:
    """As pandas saves a table; checked against pandas itself below."""
    head = list(rows[0])
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.active.append(head)
        for row in rows:
            book.active.append([row[name] for name in head])
        book.save(path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, head, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("suffix", [".xlsx", ".tsv", ".csv", ".json"])
def test_a_result_file_scores_as_its_replies_do(suffix: str, run: Dataset, tmp_path: Path) -> None:
    mine = rows(run, "full_score")
    direct = tmp_path / "direct.jsonl"
    direct.write_text("".join(json.dumps({"id": r["index"], "reply": r["prediction"]}) + "\n" for r in mine))
    file, out = save(mine, tmp_path / f"model_siming{suffix}"), tmp_path / "out.jsonl"
    assert main(["run", "import", str(file), str(out), "--format", "vlmevalkit"]) == 0
    assert score_predictions(run, out).settings == score_predictions(run, direct).settings
    assert [json.loads(line)["reply"] for line in out.read_text().splitlines()] == [r["prediction"] for r in mine]


def test_pandas_by_column_is_read_too(run: Dataset, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    mine = rows(run, "clip_error")[:5]
    pandas.DataFrame(mine).to_json(tmp_path / "a.json")
    assert main(["run", "import", str(tmp_path / "a.json"), str(tmp_path / "out.jsonl"), "--format", "vlmevalkit"]) == 0
    assert [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [
        row["index"] for row in mine
    ]


@pytest.mark.parametrize("said", [FAILED, "Failed to obtain answer: 2 requests timed out"])
def test_failures_gaps_and_cells_that_were_cut_are_no_answers(said: str, run: Dataset, tmp_path: Path) -> None:
    mine = rows(run, "clip_score")[:4]
    assert len(mine) == 4
    mine[0]["prediction"], mine[1]["prediction"] = said, None
    mine[2]["prediction"] = ('{"score": 1, "why": "' + "x" * 40_000)[:32_767]
    out = tmp_path / "out.jsonl"
    assert main(["run", "import", str(save(mine, tmp_path / "m.xlsx")), str(out), "--format", "vlmevalkit"]) == 0
    found = load_predictions(out, run).records["clip_score"]
    assert [record["status"] for record in found] == ["request_failed", "empty", found[2]["status"], "ok"]
    assert found[2]["usage"]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[1].update(index="7"), "m.json:2: '7' is no id of a request. Ask with the requests of"),
        (lambda rows: rows[1].update(index=rows[0]["index"]), "is answered in"),
        (lambda rows: rows[1].pop("prediction"), "m.json:2: needs the columns `prediction` and `index` (or `id`)."),
        (lambda rows: rows.clear(), "holds no reply to a request of `siming run requests`."),
    ],
)
def test_what_is_no_result_file_is_said(
    change: Any, said: str, run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = rows(run, "full_score")
    change(mine)
    (tmp_path / "m.json").write_text(json.dumps(mine))
    assert main(["run", "import", str(tmp_path / "m.json"), str(tmp_path / "out.jsonl"), "--format", "vlmevalkit"]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("suffix", [".xlsx", ".tsv", ".csv", ".json"])
def test_a_reply_comes_back_as_it_was_whatever_a_spreadsheet_makes_of_it(
    suffix: str, run: Dataset, tmp_path: Path
) -> None:
    """Line ends of Windows (escaped in workbooks), formulas, text that looks like an escape; as pandas writes them."""
    pandas = pytest.importorskip("pandas")
    replies = ['{"score": 1}\r\n', '={"score": 2}', "=1+1", "a_b", "+1", "-1", "'1", "2\n\n", "№ 1\u2028"]
    mine = [{**row, "prediction": text} for row, text in zip(rows(run, "clip_score"), replies, strict=False)]
    file, out = tmp_path / f"m{suffix}", tmp_path / "out.jsonl"
    table = pandas.DataFrame(mine)
    if suffix == ".json":
        table.to_json(file)
    elif suffix == ".xlsx":
        table.to_excel(file, index=False)
    else:
        with file.open("w", newline="", encoding="utf-8") as stream:
            table.to_csv(stream, index=False, sep="\t" if suffix == ".tsv" else ",")
    assert main(["run", "import", str(file), str(out), "--format", "vlmevalkit"]) == 0
    with out.open(encoding="utf-8", newline="\n") as stream:
        assert [json.loads(line)["reply"] for line in stream] == replies


def test_a_workbook_that_unpacks_to_a_gigabyte_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        zipfile.ZipFile(tmp_path / "m.xlsx", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/sharedStrings.xml", "w", force_zip64=True) as part,
    ):
        for _ in range(300):
            part.write(b"x" * 1_000_000)
    assert (tmp_path / "m.xlsx").stat().st_size < 1_000_000
    assert main(["run", "import", str(tmp_path / "m.xlsx"), str(tmp_path / "out.jsonl"), "--format", "vlmevalkit"]) == 1
    assert "unpacks to more than 100,000,000 bytes." in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".xlsx", ".tsv", ".json"])
def test_a_column_that_stands_twice_is_refused(
    suffix: str, run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = rows(run, "clip_score")[0]
    file = tmp_path / f"m{suffix}"
    if suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.active.append(["index", "prediction", "prediction"])
        book.active.append([row["index"], "1", "0"])
        book.save(file)
    elif suffix == ".tsv":
        file.write_text(f"index\tprediction\tprediction\n{row['index']}\t1\t0\n")
    else:
        file.write_text(f'[{{"index": "{row["index"]}", "prediction": "1", "prediction": "0"}}]')
    assert main(["run", "import", str(file), str(tmp_path / "out.jsonl"), "--format", "vlmevalkit"]) == 1
    assert "'prediction' appears twice" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_half_a_surrogate_pair_in_a_reply_loses_nothing(run: Dataset, tmp_path: Path) -> None:
    mine = rows(run, "clip_score")[:2]
    mine[0]["prediction"] = '{"score": 1} \ud83d'
    (tmp_path / "m.json").write_text(json.dumps(mine))
    out = tmp_path / "out.jsonl"
    assert main(["run", "import", str(tmp_path / "m.json"), str(out), "--format", "vlmevalkit"]) == 0
    replies = [json.loads(line)["reply"] for line in out.read_text(encoding="utf-8").splitlines()]
    assert replies == ['{"score": 1} \ufffd', mine[1]["prediction"]]


def test_a_pickle_is_not_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.pkl").write_bytes(b"cos\nsystem\n(S'touch owned'\ntR.")
    assert main(["run", "import", str(tmp_path / "m.pkl"), str(tmp_path / "out.jsonl"), "--format", "vlmevalkit"]) == 1
    assert "a result file is one of .xlsx, .tsv, .csv, .json." in capsys.readouterr().err
    (tmp_path / "m.xlsx").write_bytes(b"PK\x03\x04 no workbook")
    assert main(["run", "import", str(tmp_path / "m.xlsx"), str(tmp_path / "out.jsonl"), "--format", "vlmevalkit"]) == 1
    assert "not a readable .xlsx file" in capsys.readouterr().err


def test_a_file_that_is_no_log_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("inspect_ai")
    (tmp_path / "a.eval").write_bytes(b"PK\x03\x04 nothing")
    assert main(["run", "import", str(tmp_path / "a.eval"), str(tmp_path / "out.jsonl"), "--format", "inspect"]) == 1
    assert "Inspect cannot read it (" in capsys.readouterr().err


def prediction(index: object, **output: Any) -> str:
    """A line of evalscope's predictions, with the fields that 1.14.1 writes and that matter here."""
    return json.dumps({"index": index, "model": "m", "model_output": output, "messages": []}) + "\n"


def test_predictions_of_evalscope_are_told_by_the_rows_of_what_was_asked(
    run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, file, out = tmp_path / "requests.jsonl", tmp_path / "general_vqa_default.jsonl", tmp_path / "out.jsonl"
    names = [row["index"] for row in rows(run, "clip_score")[:4]]
    asked.write_text("".join(json.dumps({"id": name, "prompt": f"p{name}"}) + "\n" for name in names))

    def answer(text: str, ended: str) -> dict[str, Any]:
        choice = {"message": {"role": "assistant", "content": text}, "stop_reason": ended}
        return {"choices": [choice], "usage": {"input_tokens": 7, "output_tokens": 2}, "error": None}

    file.write_text(
        prediction(2, **answer('{"score": 1}', "stop"))
        + prediction(0, **answer('{"score"', "max_tokens"))
        + prediction(1, choices=[], error="time-out, api_key=sk-abcdefghijklmnopqrstuv")
    )
    words = ["run", "import", str(file), str(out), "--format", "evalscope"]
    assert main([*words, "--requests", str(asked)]) == 1  # one has no reply
    assert names[3] in capsys.readouterr().out
    third, first, failed = map(json.loads, out.read_text().splitlines())
    assert (third["id"], third["reply"], third["prompt"]) == (names[2], '{"score": 1}', f"p{names[2]}")
    assert third["usage"] == {"prompt_tokens": 7, "completion_tokens": 2, "finish_reason": "stop"}
    assert (first["id"], first["usage"]["finish_reason"]) == (names[0], "length")
    assert (failed["id"], failed["reply"]) == (names[1], None) and "sk-abc" not in failed["error"]
    for wrong, said in ((prediction(4), "request number 4, and 4 are known"), (prediction("0"), "needs `index`")):
        file.write_text(wrong)
        assert main([*words, "--requests", str(asked)]) == 1 and said in capsys.readouterr().err
    file.write_text(prediction(0))
    assert main(words) == 1 and "--requests" in capsys.readouterr().err
