import pytest

from spacy_ssvm.features.attributes import ANNOTATION_ATTRIBUTES, LEXEME_ATTRIBUTES, TOKEN_ATTRIBUTES
from spacy_ssvm.features.sets import ner_features, tagger_features, templates
from spacy_ssvm.features.templates import MAX_OFFSET, Part, parse_template, parse_templates


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("bias", ()),
        ("word[0]", (Part("word", 0),)),
        (" lower[-1] + lower[0] ", (Part("lower", -1), Part("lower", 0))),
        ("suffix3[1]+cluster10[0]+gazetteer.big_city[-2]", None),
        ("_.room[0]", (Part("_.room", 0),)),
        (f"pos[-{MAX_OFFSET}]+pos[{MAX_OFFSET}]", (Part("pos", -MAX_OFFSET), Part("pos", MAX_OFFSET))),
    ],
)
def test_template_is_read_and_written(text, parts):
    template = parse_template(text)
    assert parts is None or template.parts == parts
    assert str(template) == text.replace(" ", "")
    assert parse_template(str(template)) == template


@pytest.mark.parametrize("attribute", [*TOKEN_ATTRIBUTES, *LEXEME_ATTRIBUTES, *ANNOTATION_ATTRIBUTES])
def test_every_attribute_can_be_named(attribute):
    assert parse_template(f"{attribute}[0]").parts == (Part(attribute, 0),)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("lowr[0]", "did you mean lower"),
        ("sufix3[0]", "did you mean .*suffix3"),
        ("suffix6[0]", "unknown attribute"),
        ("cluster0[0]", "did you mean cluster"),
        ("qqqqqqq[0]", "known are .*word"),
        ("gazetteer.[0]", "unknown attribute"),
        ("_.[0]", "unknown attribute"),
        ("lower", "cannot read"),
        ("lower[]", "cannot read"),
        ("lower[0.5]", "cannot read"),
        ("lower[x]", "cannot read"),
        ("lower[+1]", "cannot read"),
        ("lower[0]+", "cannot read"),
        ("bias+lower[0]", "cannot read"),
        ("", "cannot read"),
        (f"lower[{MAX_OFFSET + 1}]", "offset 101"),
        (f"lower[0]+lower[-{MAX_OFFSET + 1}]", "offset -101"),
        ("lower[0]+word[1]+lower[0]", "twice"),
    ],
)
def test_bad_template_is_refused_by_name(text, complaint):
    with pytest.raises(ValueError, match=complaint) as refusal:
        parse_template(text)
    assert f'feature template "{text}"' in str(refusal.value)


def test_template_must_be_a_string():
    with pytest.raises(ValueError, match="feature template 3 is not a string"):
        parse_template(3)


@pytest.mark.parametrize(
    "texts",
    [
        ["lower[0]", "word[0]", "lower[0]"],
        ["lower[0]+word[1]", "word[1]+lower[0]"],
        ["lower[0]", "lower[-0]"],
        ["bias", " bias"],
    ],
)
def test_templates_that_say_the_same_are_refused(texts):
    with pytest.raises(ValueError, match="says the same") as refusal:
        parse_templates(texts)
    assert f'"{texts[-1]}"' in str(refusal.value)


def test_empty_list_is_refused():
    with pytest.raises(ValueError, match="empty"):
        parse_templates([])


def test_missing_resources_are_refused_by_template():
    with pytest.raises(ValueError, match=r'"bias\+?|"gazetteer\.city\[0\]" reads a gazetteer .* none'):
        templates(["bias", "gazetteer.city[0]"])
    with pytest.raises(ValueError, match=r'"gazetteer\.city\[0\]" reads a gazetteer .* people'):
        templates(["gazetteer.city[0]"], gazetteers={"people": "people.txt"})
    with pytest.raises(ValueError, match=r'"cluster4\[0\]" reads clusters'):
        templates(["cluster4[0]"])


@pytest.mark.parametrize("bits", [0, -1, 31])
def test_hash_size_out_of_range_is_refused(bits):
    with pytest.raises(ValueError, match="hash_bits"):
        templates(["bias"], hash_bits=bits)


@pytest.mark.parametrize("features", [tagger_features, ner_features])
def test_resources_extend_the_ready_sets(features):
    plain = {str(template) for template in features().templates}
    full = features(gazetteers={"city": "city.txt"}, clusters="brown.txt", extra=["_.room[0]"], hash_bits=20)
    added = {str(template) for template in full.templates} - plain
    assert {"gazetteer.city[0]", "cluster[0]", "cluster4[0]", "_.room[0]"} <= added
    assert full.hash_bits == 20 and full.gazetteers["city"].name == "city.txt"
    with pytest.raises(ValueError, match='"bias" says the same'):
        features(extra=["bias"])
