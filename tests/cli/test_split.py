"""`spacy ssvm split`: a part of a corpus is kept back, and nothing is lost or changed."""

from collections import Counter

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin

from spacy_ssvm.corpus.division import divide
from spacy_ssvm.corpus.reader import create_corpus

from .calling import refusal, said


def sentence(number, n_words=1, mark=""):
    rows = [f"{k}\tword{number}\t_\tX\t_\t_\t{k - 1}\tdep\t_\t_" for k in range(1, n_words + 1)]
    return "\n".join([*([mark] if mark else []), f"# sent_id = {number}", *rows]) + "\n\n"


def written(path, *texts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(texts).encode("utf8"))
    return path


def parts_of(tmp_path, corpus, *arguments):
    """The bytes of both parts, and what is printed."""
    suffix = (
        ".spacy" if next(iter([corpus] if corpus.is_file() else corpus.rglob("*.*"))).suffix == ".spacy" else ".conllu"
    )
    train, dev = tmp_path / "parts" / f"train{suffix}", tmp_path / "parts" / f"dev{suffix}"
    for path in (train, dev):
        path.unlink(missing_ok=True)
    output = said("split", corpus, train, dev, *arguments)
    return train.read_bytes(), dev.read_bytes(), output


def blocks(content):
    return [block for block in content.decode("utf8").split("\n\n") if block.strip()]


def test_documents_stay_in_one_piece(tmp_path):
    texts = [
        sentence(f"{doc}.{k}", mark=f"# newdoc id = {doc}" * (k == 0)) for doc in range(60) for k in range(1 + doc % 7)
    ]
    corpus = written(tmp_path / "gl.conllu", *texts)
    train, dev, output = parts_of(tmp_path, corpus)
    assert Counter(blocks(train) + blocks(dev)) == Counter(blocks(corpus.read_bytes()))
    found = [{block.split("sent_id = ")[1].split(".")[0] for block in blocks(part)} for part in (train, dev)]
    assert not found[0] & found[1]
    assert 0.05 * len(texts) <= len(blocks(dev)) <= 0.1 * len(texts) + 0.5
    # Each part is in the order of the corpus.
    assert [block for block in blocks(corpus.read_bytes()) if block in blocks(dev)] == blocks(dev)
    assert f"Kept back {len(found[1])} of 60 documents, by seed 0:" in output
    firsts = [block for block in blocks(dev) if "newdoc" in block]
    lines = corpus.read_text("utf8").split("\n")
    assert f"gl.conllu: lines {', '.join(str(1 + lines.index(block.split(chr(10))[0])) for block in firsts)} " in output
    assert f"Saved {len(blocks(dev))} sentences to" in output


def test_the_seed_decides(tmp_path):
    corpus = written(tmp_path / "gl.conllu", *[sentence(number) for number in range(200)])
    first, again, other = (parts_of(tmp_path, corpus, "--seed", seed) for seed in (7, 7, 8))
    assert first == again and first[:2] != other[:2]


@pytest.mark.parametrize(
    "texts, kind",
    [
        ([sentence(k) for k in range(200)], "stretches of 10 sentences"),
        ([sentence(k, mark="# newpar" * (k % 4 == 0)) for k in range(200)], "stretches of 10 sentences"),
        ([sentence(k, mark="# newdoc" * (k in (0, 120))) for k in range(200)], "stretches of 10 sentences"),
        ([sentence(k, mark="# newdoc" * (k % 3 == 0)) for k in range(90)], "documents"),
        ([sentence(k) for k in range(12)], "sentences"),
        ([sentence(k) for k in range(2)], "sentences"),
    ],
)
def test_what_stays_in_one_piece(tmp_path, texts, kind):
    train, dev, output = parts_of(tmp_path, written(tmp_path / "a.conllu", *texts))
    assert f" {kind}, by seed 0:" in output
    assert len(blocks(dev)) == pytest.approx(max(1, len(texts) / 10), abs=5) and blocks(dev)
    assert Counter(blocks(train) + blocks(dev)) == Counter(blocks("".join(texts).encode()))


def test_no_byte_of_a_sentence_changes(tmp_path):
    """Comments, multi-word tokens, empty nodes, what is not valid, spaces, other line ends, and an end without one."""
    kinds = [
        "# text = zum\n#bare\n1-2\tzum\t_\t_\t_\t_\t_\t_\t_\t_\n1\tzu\t_\tADP\t_\t_\t0\troot\t_\tSpaceAfter=No\n"
        "2\tdem\t_\tDET\t_\t_\t1\tdet\t_\tX=\u2028\n2.1\tnull\t_\t_\t_\t_\t_\t_\t1:x\t_\n",
        "1\tonly two\n",
        "7\tx\t_\tHELLO\t_\t_\t99\tdep\t_\t_\n",
        "# windows\r\n1\tx\t_\tX\t_\t_\t0\troot\t_\t_\r\n",
        "1\ttrailing \t_\tX\t_\t_\t0\troot\t_\tNE=é  \t\n",
        "# sent_id = 5\x0b\x0c\x1c\x85\n1\tx\u3000\t_\tX\t_\t_\t0\troot\t_\t_\n",
    ]
    texts = [f"# n = {k}\n{kinds[k % len(kinds)]}" for k in range(120)]
    folder = tmp_path / "corpus"
    written(folder / "a.conllu", "\ufeff", "\n".join(texts[:50]).removesuffix("\n"))
    written(folder / "deep" / "b.conllu", "\n\n" + "\n \n".join(texts[50:]), "\r\n")
    train, dev, _ = parts_of(tmp_path, folder)
    found = Counter()
    for part in (train, dev):
        text = part.decode("utf8")
        assert text.endswith("\n") and "\ufeff" not in text
        for number in range(120):
            found[number] += text.count(f"# n = {number}\n")
            if f"# n = {number}\n" in text:
                assert texts[number] in text
    assert all(count == 1 for count in found.values()) and len(found) == 120
    # The reader takes the parts for what the corpus is.
    nlp = spacy.blank("xx")
    with pytest.warns(UserWarning, match="cannot be read"):
        sizes = [
            sum(len(example.reference) for example in create_corpus(path, gold_preproc=True)(nlp))
            for path in (folder, tmp_path / "parts" / "train.conllu", tmp_path / "parts" / "dev.conllu")
        ]
    assert sizes[0] == sizes[1] + sizes[2] > 0


def test_docs_are_copied_whole(tmp_path):
    nlp = spacy.blank("xx")
    docs = []
    for number in range(40):
        doc = Doc(nlp.vocab, words=[f"w{number}"] * (1 + number % 5), ents=["B-PER"] + ["O"] * (number % 5))
        doc.user_data["number"] = number
        doc.cats = {"even": number % 2}
        doc.spans["all"] = [doc[:1]]
        docs.append(doc)
    docs.append(Doc(nlp.vocab))
    folder = tmp_path / "corpus"
    folder.mkdir()
    DocBin(docs=docs[:25], store_user_data=True).to_disk(folder / "a.spacy")
    DocBin(docs=docs[25:]).to_disk(folder / "b.spacy")
    _, _, output = parts_of(tmp_path, folder)
    assert "of 41 documents, by seed 0:" in output and "tokens to" in output

    def all_of(*paths):
        stored = [
            (doc, DocBin(docs=[doc], store_user_data=True))
            for path in paths
            for doc in DocBin().from_disk(path).get_docs(nlp.vocab)
        ]
        return sorted(
            (doc.text, doc.to_json(), doc.user_data.get("number"), doc.cats, bin.tokens[0].tolist())
            for doc, bin in stored
        )

    parts = [tmp_path / "parts" / f"{part}.spacy" for part in ("train", "dev")]
    key = repr
    assert sorted(map(key, all_of(folder / "a.spacy", folder / "b.spacy"))) == sorted(map(key, all_of(*parts)))
    sizes = [sum(map(len, DocBin().from_disk(path).get_docs(nlp.vocab))) for path in parts]
    assert sizes[1] == pytest.approx(sum(sizes) / 10, abs=5) and sizes[1]


@pytest.mark.parametrize("sizes, dev", [([300, 1, 300], 300), ([1, 300], 1), ([5, 0, 0, 0], 0), ([100, 100], 100)])
def test_a_few_documents(tmp_path, sizes, dev):
    """The largest one stays for training."""
    vocab = spacy.blank("xx").vocab
    DocBin(docs=[Doc(vocab, words=["x"] * size) for size in sizes]).to_disk(tmp_path / "a.spacy")
    for seed in range(5):
        division = divide(tmp_path / "a.spacy", seed)
        kept = [len(doc) for doc in DocBin().from_bytes(division.dev).get_docs(vocab)]
        assert sum(kept) == dev and len(kept) == 1
        assert len(DocBin().from_bytes(division.train)) == len(sizes) - 1


def test_a_damaged_doc_is_copied_too(tmp_path):
    vocab = spacy.blank("xx").vocab
    corpus = DocBin(docs=[Doc(vocab, words=["x"], heads=[0], deps=["ROOT"])] * 30)
    corpus.tokens[3] = np.full_like(corpus.tokens[3], 2**63)
    corpus.to_disk(tmp_path / "a.spacy")
    division = divide(tmp_path / "a.spacy", 0)
    tokens = [t.tolist() for part in (division.train, division.dev) for t in DocBin().from_bytes(part).tokens]
    assert sorted(tokens) == sorted(t.tolist() for t in corpus.tokens)


def test_what_cannot_be_divided_is_explained(tmp_path):
    good = written(tmp_path / "good.conllu", *[sentence(k) for k in range(20)])
    train, dev = tmp_path / "train.conllu", tmp_path / "dev.conllu"
    vocab = spacy.blank("xx").vocab
    written(tmp_path / "both" / "a.conllu", sentence(1))
    DocBin(docs=[Doc(vocab, words=["x"])]).to_disk(tmp_path / "both" / "a.spacy")
    (tmp_path / "others").mkdir()
    DocBin(docs=[Doc(vocab, words=["x"])]).to_disk(tmp_path / "others" / "a.spacy")
    DocBin(attrs=["TAG"], docs=[Doc(vocab, words=["x"])]).to_disk(tmp_path / "others" / "b.spacy")
    written(tmp_path / "broken.spacy", "no")
    written(tmp_path / "words.txt", "no")
    for arguments, complaint in (
        ([good, train, train], "is to be both parts"),
        ([good, tmp_path / "train.spacy", dev], "has to end in .conllu"),
        ([good, good, dev], "good.conllu exists"),
        ([good, train, tmp_path / "both"], "both exists"),
        ([tmp_path / "words.txt", train, dev], "is not, or does not contain, a .conllu or .spacy file"),
        ([tmp_path / "both", train, dev], "has .conllu files and .spacy files"),
        ([written(tmp_path / "one.conllu", sentence(1)), train, dev], "has 1 sentence, so there is nothing to divide"),
        ([written(tmp_path / "none.conllu"), train, dev], "has 0 sentences, so there is nothing to divide"),
        ([tmp_path / "others", tmp_path / "t.spacy", tmp_path / "d.spacy"], "b.spacy stores other attributes"),
        ([tmp_path / "broken.spacy", tmp_path / "t.spacy", tmp_path / "d.spacy"], "broken.spacy is not a corpus"),
    ):
        before = sorted(tmp_path.rglob("*"))
        assert complaint in refusal("split", *arguments) and sorted(tmp_path.rglob("*")) == before
