"""The linter on the paper's tables, on made-up tables with planted faults, and on tables without fault."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.report.published_tables import document_from, paper_tables, read_document
from siming_tasks.tools.table_lint import binary
from siming_tasks.tools.table_lint.lint import lint
from siming_tasks.tools.table_lint.noise import best_of_k, differences, homogeneity


@pytest.fixture(scope="module")
def paper():
    return lint(paper_tables())


def codes(report, table=None):
    return [(f.code, f.rows) for f in report.findings if table in (None, f.table)]


def csv(text, **table):
    return lint(document_from({"tables": [{"name": "t", "rows": text, **table}]}, "made-up"))


class TestPaper:
    """Expected values computed by hand from the printed numbers."""

    def test_exactly_these_contradictions(self, paper):
        assert [(f.table, f.code, f.rows[0]) for f in paper.inconsistent] == [
            ("Table 3", "share-denominator", "Step instances requiring adjudication"),
            ("Table 5", "delta-other-column", "Gemini-3 Pro"),
        ]
        assert all(f.assumes for f in paper.findings)

    def test_common_prevalence(self, paper):
        assert paper.prevalence == {"Table 4": pytest.approx((0.1858, 0.1862), abs=6e-5)}

    def test_mcc_signs(self, paper):
        """P = .145 and .174 lie below .186, so MCC must be negative at any prevalence that seven rows allow."""
        what = {f.rows[0]: f.what for f in paper.findings if f.code == "mcc-sign"}
        assert "P 0.145 is below the prevalence 0.1858 to 0.1862." in what["LLaVA-OneVision"]
        assert "With its sign changed the row implies 0.1831 to 0.1859, which fits." in what["LLaVA-OneVision"]
        assert "about -0.048; 0.0434 is printed." in what["Qwen3-VL"]

    def test_what_unanswered_items_would_explain(self, paper):
        """(.1858 - .1835) / (1 - .1835) and so on, from the ranges that the rows imply."""
        found = {f.rows[0]: (f.kind, f.what) for f in paper.findings if f.code in ("mcc-sign", "prevalence-differs")}
        share = {name: re.search(r"([\d.]+)% of the items missing", what).group(1) for name, (_, what) in found.items()}
        assert share == {
            "Qwen3-Omni": "0.3", "Gemini-3 Pro": "0.9", "MediX-R1": "2.3", "Qwen3-VL": "2.9", "LLaVA-OneVision": "9.1",
        }  # fmt: skip
        assert {kind for kind, _ in found.values()} == {"note"}

    def test_delta_of_the_other_column(self, paper):
        (finding,) = (f for f in paper.findings if f.code == "delta-other-column")
        assert Decimal("0.331") - Decimal("-0.116") == Decimal("0.447")
        assert finding.what == (
            "PLCC 0.331 minus 0.022 in the base row is +0.309; the printed delta is +0.447. "
            "+0.447 is the difference from the base row's SRCC: 0.331 - (-0.116)."
        )

    def test_share_of_another_denominator(self, paper):
        """65 / 0.01065 = 6103.3 and 65 / 0.01055 = 6161.1; of 33 steps that is 185.0 to 186.7 videos."""
        (finding,) = (f for f in paper.findings if f.code == "share-denominator")
        assert finding.what.startswith(
            "65 of 200 x 33 = 6,600 is 0.98%, not 1.06%: that is the share of 6,104 to 6,161."
        )
        assert "With 33 as one factor the other would be 185.0 to 186.7, not 200." in finding.what

    def test_plcc_spread_is_that_of_noise(self, paper):
        (finding,) = (f for f in paper.findings if (f.table, f.column) == ("Table 4", "plcc") and "spread" in f.code)
        assert (finding.code, finding.kind) == ("spread-is-noise", "noise")
        assert "standard deviation of 0.070; the standard error of each is 0.071" in finding.what
        assert "chi-square 10.7 on 11 degrees of freedom, p = 0.47" in finding.what
        assert "5 of 66 pairs alone, 0 after Holm's correction" in finding.what

    def test_constant_beats_all_f1_but_one(self, paper):
        """2 x .186 / 1.186 = .3137; only .344 is higher; .310 is the constant itself at another prevalence."""
        (finding,) = (f for f in paper.findings if f.code == "constant-f1")
        assert "F1 0.3134 to 0.3140" in finding.what
        assert "11 of 12 printed F1 are lower (Qwen3-Omni prints the pattern of that constant itself" in finding.what

    def test_table_5_is_not_all_noise(self, paper):
        """The linter reports what speaks for a table too: one clip PLCC lies far beyond chance."""
        found = {f.code: f for f in paper.findings if (f.table, f.column) == ("Table 5", "plcc")}
        assert found["spread-exceeds-noise"].kind == "note"
        assert found["best-of-k"].kind == "note"
        assert found["constant-total"].rows == ("LLaVA-OneVision",)

    def test_agreement_bound(self, paper):
        """d = 1.065 %, p = .1858 - .01065, e = 2 p (1 - p) = .2891: kappa >= 1 - d / e = .963."""
        (finding,) = (f for f in paper.findings if f.code == "kappa-disagreement")
        assert "unweighted kappa of 0.963 or more; 0.732 is printed" in finding.what
        assert "at least 2.7 of 3 labels apart" in finding.what


class TestPlanted:
    def test_clean_table_has_no_contradiction(self):
        """TP 30, FP 20, FN 10, TN 140 and TP 20, FP 60, FN 20, TN 100."""
        report = csv(
            "name,p,r,f1,mcc,accuracy,specificity,prevalence\n"
            "a,0.600,0.750,0.667,0.577,0.850,0.875,0.200\n"
            "b,0.250,0.500,0.333,0.102,0.600,0.625,0.200\n"
        )
        assert report.inconsistent == ()

    @pytest.mark.parametrize(
        ("column", "printed", "code"),
        [
            ("f1", "0.676", "f1-of-parts"),
            ("mcc", "-0.577", "mcc-sign"),
            ("mcc", "0.479", "prevalence-differs"),
            ("mcc", "0.999", "no-such-table"),
            ("accuracy", "0.750", "prevalence-differs"),
            ("specificity", "0.775", "prevalence-differs"),
            ("prevalence", "0.300", "prevalence-differs"),
        ],
    )
    def test_one_changed_number_is_found(self, column, printed, code):
        row = {"p": "0.600", "r": "0.750", "f1": "0.667", "mcc": "0.577"}
        row |= {"accuracy": "0.850", "specificity": "0.875", "prevalence": "0.200"}
        report = lint(document_from([{**row, column: printed}], "made-up"))
        assert code in {f.code for f in report.inconsistent}

    def test_delta_of_own_base_column_and_copied_delta(self):
        report = csv(
            "name,base,plcc,plcc_delta,srcc,srcc_delta\n"
            "full,,0.100,,0.200,\n"
            "right,full,0.300,+0.200,0.350,+0.150\n"
            "copied,full,0.300,+0.150,0.350,+0.150\n"
            "wrong,full,0.300,+0.777,0.350,+0.151\n"
        )
        assert codes(report) == [("delta-other-column", ("copied",)), ("delta", ("wrong",))]
        assert "it matches" not in report.findings[1].what
        assert "the SRCC column's own difference: 0.350 - (0.200)" in report.findings[0].what

    @pytest.mark.parametrize(
        ("count", "percent", "of", "expected"),
        [
            (31, "15.5%", 200, []),
            (0, "0.0%", 200, []),
            (0, "0.5%", 200, ["share-denominator"]),
            (1, "33%", 3, []),
            (10, "34%", 30, ["share-denominator"]),  # 29 items
            (6, "0.55", "", []),  # 11 items
            (99, "98.97%", "", ["share-impossible"]),
        ],
    )
    def test_shares(self, count, percent, of, expected):
        report = lint(document_from([{"name": "x", "count": count, "percent": percent, "of": of}], "made-up"))
        assert [f.code for f in report.findings] == expected

    def test_two_rows_that_cannot_share_a_prevalence(self):
        rows = "name,p,r,mcc\nfull,0.212,0.909,0.132\nclips,0.201,0.393,{}\n"
        assert codes(csv(rows.format("0.028"))) == []
        (finding,) = csv(rows.format("-0.028")).findings
        assert (finding.code, finding.kind) == ("prevalence-disagrees", "note")
        assert "2.6% of the items missing would explain it" in finding.what  # .0270 / 1.0270
        assert "full 0.1855 to 0.1868; clips 0.2138 to 0.2153" in finding.what

    def test_out_of_range_numbers_are_named_and_passed_over(self):
        report = csv("name,p,r,mcc,plcc,n_videos\na,18.6,0.5,0.1,1.2,200\nb,0.2,0.5,0.1,1.000,200\n")
        assert [(f.code, f.column) for f in report.findings] == [
            ("out-of-range", "precision"),
            ("out-of-range", "plcc"),
        ]
        assert (
            report.findings[0].what
            == "P is printed as 18.6; it lies between 0 and 1. Write a percentage as 15.7%, or % behind the heading."
        )

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(
            st.dictionaries(
                st.sampled_from(
                    ["p", "r", "f1", "mcc", "plcc", "srcc", "kappa", "accuracy", "prevalence", "disagreement"]
                ),
                st.decimals(min_value=-2, max_value=2, places=3).map(str),
            ),
            min_size=1,
            max_size=5,
        )
    )
    def test_any_numbers_give_a_report(self, rows):
        named = [{"name": str(i), "plcc_delta": "0.1", "base": "0", **row} for i, row in enumerate(rows)]
        table = {"tables": [{"name": "t", "rows": named, "n_videos": 200, "n_items": 6600}]}
        report = lint(document_from(table, "made-up"))
        json.dumps(report.to_json(), allow_nan=False)
        assert not re.search(r"\bnan\b", report.to_markdown())

    def test_sizes_from_a_column_and_mixed_sizes(self):
        rows = "name,plcc,n_videos\na,0.1,200\nb,0.1,200\nc,0.9,{}\n"
        assert "spread-exceeds-noise" in {f.code for f in csv(rows.format(200)).findings}
        assert csv(rows.format(100)).findings == ()


class TestNoise:
    def test_homogeneity_size(self):
        """Under no true correlation the p-value is uniform: 5 % of columns are called unequal."""
        rng = np.random.default_rng(1)
        n, k, columns = 200, 12, 1500
        x = rng.standard_normal((columns, k, n))
        y = rng.standard_normal((columns, 1, n))
        x -= x.mean(-1, keepdims=True)
        y -= y.mean(-1, keepdims=True)
        r = (x * y).sum(-1) / np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
        p = np.array([homogeneity(list(row), n)[2] for row in r])
        assert stats.kstest(p, "uniform").pvalue > 0.01
        best = r.max(1)
        expected = best_of_k(0.158, n, k)
        assert (best >= 0.158).mean() == pytest.approx(expected, abs=3 * np.sqrt(expected * (1 - expected) / columns))

    def test_best_of_one_is_the_one_sided_test(self):
        x, y = np.random.default_rng(2).standard_normal((2, 50))
        test = stats.pearsonr(x, y, alternative="greater")
        assert best_of_k(test.statistic, 50, 1) == pytest.approx(test.pvalue, rel=1e-9)
        assert best_of_k(1.0, 50, 3) == 0.0
        assert best_of_k(-0.99, 200, 3) == 1.0

    def test_holm(self):
        multitest = pytest.importorskip("statsmodels.stats.multitest")
        r, n = [0.5, 0.1, 0.0, -0.4], 100
        z = np.arctanh(r)
        p = [2 * stats.norm.sf(abs(a - b) / np.sqrt(2 / 97)) for i, a in enumerate(z) for b in z[i + 1 :]]
        after = int(multitest.multipletests(p, method="holm")[0].sum())
        assert differences(r, n) == (6, sum(v <= 0.05 for v in p), after)

    @pytest.mark.parametrize("missing", [0.0, 0.01, 0.02])
    def test_correct_tables_with_missing_answers_have_no_contradiction(self, missing):
        """Every row leaves out answers of its own, as our metrics do: nothing about that is impossible."""
        rng = np.random.default_rng(0)
        for _ in range(30):
            truth = rng.random(6600) < 0.186
            rows = []
            for name in "abcdefgh":
                guess = np.where(rng.random(6600) < 0.3, truth, rng.random(6600) < 0.2)
                kept = rng.random(6600) >= missing * np.where(truth, 4, 0.3)  # hard items are left out more often
                t, g = truth[kept], guess[kept]
                tp, fp, fn = (t & g).sum(), (~t & g).sum(), (t & ~g).sum()
                values = {"p": tp / (tp + fp), "r": tp / (tp + fn), "f1": 2 * tp / (2 * tp + fp + fn)}
                values["mcc"] = np.corrcoef(t, g)[0, 1]
                rows.append({"name": name} | {key: f"{value:.3f}" for key, value in values.items()})
            assert lint(document_from(rows, "correct")).inconsistent == ()

    def test_tailed_totals_have_no_gap_that_is_not_usual(self):
        """Of 60 correct tables with a few very weak examinees, at most three name a row."""
        rng, named = np.random.default_rng(1), 0
        for _ in range(60):
            truth = -rng.gamma(0.4, size=200)
            judged = [0.15 * truth + rng.normal(size=200) * 0.6 - 0.5 * rng.gamma(0.5, size=200) for _ in range(12)]
            both = [(stats.pearsonr(truth, y)[0], stats.spearmanr(truth, y)[0]) for y in judged]
            rows = [{"name": f"m{k}", "plcc": f"{r:.3f}", "srcc": f"{s:.3f}"} for k, (r, s) in enumerate(both)]
            report = lint(document_from({"tables": [{"name": "t", "n_videos": 200, "rows": rows}]}, "tailed"))
            named += any(f.code == "pearson-spearman-gap" for f in report.findings)
        assert named <= 3

    def test_standard_error_of_the_pearson_spearman_gap(self):
        rng = np.random.default_rng(3)
        x, y = rng.standard_normal((2, 1500, 200))
        pearson = np.array([stats.pearsonr(*pair).statistic for pair in zip(x, y, strict=True)])
        ranks = (stats.rankdata(x, axis=1), stats.rankdata(y, axis=1))
        spearman = np.array([stats.pearsonr(*pair).statistic for pair in zip(*ranks, strict=True)])
        assert np.std(pearson - spearman) == pytest.approx(np.sqrt((2 - 6 / np.pi) / 199), rel=0.06)


class TestReading:
    def test_json_keeps_trailing_zeros(self, tmp_path):
        path = tmp_path / "t.json"
        path.write_text('[{"Model": "a", "P": 0.070, "R": 0.5}]')
        (row,) = read_document(path).tables[0].rows
        assert row.values["precision"].text == "0.070"

    def test_csv_and_yaml_say_the_same(self, tmp_path):
        (tmp_path / "t.csv").write_text("model,Pearson,MCC,frames\na,0.10,0.2,64\n")
        (tmp_path / "t.yaml").write_text("- {model: a, Pearson: '0.10', MCC: '0.2', frames: 64}\n")
        one, two = (read_document(tmp_path / name).tables[0] for name in ("t.csv", "t.yaml"))
        assert one.rows == two.rows
        assert one.ignored == ("frames",)

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            (
                "t.csv",
                "model,p\na,high\n",
                "t.csv: row 'a', column precision: 'high' is not a number. Write 0.331, 15.5%, 0.331 ± 0.020,",
            ),
            ("t.csv", "model,p\na,0.1,0.2\n", "t.csv: line 2: not 2 cells as in the header."),
            ("t.csv", "", "t.csv: table 1 has no `rows`."),
            ("t.json", "{", "t.json:1: not valid JSON"),
            ("t.json", "3", "expected rows, or a mapping with a list `tables`"),
            ("t.json", '{"tables": [{"rows": [1]}]}', "`rows` is CSV text with a header line, or a list of mappings."),
            (
                "t.json",
                '{"tables": [{"rows": [{"p": 1}], "n_videos": "many"}]}',
                "n_videos: 'many' is not a whole number",
            ),
            ("t.csv", "model,p\na,0.1\na,0.2\n", "t.csv: row 'a' appears twice. Give each row a name of its own."),
            ("t.json", '[{"count": 1.5, "percent": "3%"}]', "row 'row 1': '1.5' is not a whole number"),
            ("t.txt", "", "a table is a .csv, .json, .yaml or .yml file."),
        ],
    )
    def test_bad_files(self, tmp_path, name, text, message):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(DataError) as caught:
            read_document(path)
        assert message in str(caught.value)

    def test_missing_file(self, tmp_path):
        with pytest.raises(DataError, match="no such file"):
            read_document(tmp_path / "t.csv")


class TestCommand:
    def test_paper_markdown(self, capsys):
        assert main(["study", "lint-table", "paper"]) == 1
        out = capsys.readouterr().out
        assert "### Cannot all be right as printed" in out
        assert "| GPT-5.2 | MCC | 0.1855 to 0.1868 |" in " ".join(out.split())  # columns are padded
        assert " nan" not in out

    def test_json_and_sizes(self, tmp_path, capsys):
        path = tmp_path / "t.csv"
        path.write_text("model,plcc\na,0.10\nb,0.05\nc,-0.02\n")
        assert main(["study", "lint-table", str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["findings"] == []
        assert main(["study", "lint-table", str(path), "--n-videos", "200", "--json"]) == 0
        assert {f["code"] for f in json.loads(capsys.readouterr().out)["findings"]} == {"spread-is-noise", "best-of-k"}

    def test_bad_size(self, capsys):
        assert main(["study", "lint-table", "paper", "--n-videos", "0"]) == 2
        assert capsys.readouterr().err == "siming study lint-table: --n-videos '0' must be at least 1.\n"


class TestDocumentation:
    PAGE = Path(__file__).parents[3] / "docs" / "howto" / "lint.md"

    def test_the_example_is_read_as_it_says(self):
        (block,) = re.findall(r"```yaml\n(.*?)```", self.PAGE.read_text(), re.DOTALL)
        report = lint(document_from(yaml.safe_load(block), "docs/howto/lint.md"))
        assert [f.code for f in report.inconsistent] == ["delta-other-column"]

    def test_quoted_findings_are_in_the_report(self, paper):
        quoted = " ".join(re.findall(r"^> ?(.*)$", self.PAGE.read_text(), re.MULTILINE))
        quoted = re.sub(r"\*\*Table \d\.\*\*|\s+", " ", quoted)
        assert sum(finding.what in quoted for finding in paper.findings) == 3

    def test_every_code_is_explained(self):
        sources = "".join(path.read_text() for path in Path(binary.__file__).parent.glob("*.py"))
        codes = set(re.findall(r'Finding\(\s*"([a-z0-9-]+)"', sources)) | set(
            re.findall(r'code = "([a-z0-9-]+)"', sources)
        )
        codes |= {"delta-other-column", "delta", "spread-is-noise", "spread-exceeds-noise", "no-such-table"}
        assert len(codes) >= 17
        assert [code for code in sorted(codes) if f"`{code}`" not in self.PAGE.read_text()] == []
