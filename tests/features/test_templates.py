import pytest

from spacy_ssvm.features.arc_templates import parse_arc_template, parse_arc_templates
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


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("lowr[0]", "did you mean lower"),
        ("sufix3[0]", "did you mean .*suffix3"),
        ("suffix9[0]", "unknown attribute"),
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


@pytest.mark.parametrize(
    ("parse", "texts"),
    [
        (parse_templates, ["lower[0]", "word[0]", "lower[0]"]),
        (parse_templates, ["lower[0]+word[1]", "word[1]+lower[0]"]),
        (parse_templates, ["lower[0]", "lower[-0]"]),
        (parse_templates, ["bias", " bias"]),
        (parse_arc_templates, ["head.tag[0]", "mod.tag[0]", "head.tag[0]"]),
        (parse_arc_templates, ["head.tag[0]+mod.tag[0]", "mod.tag[0]+head.tag[0]"]),
        (parse_arc_templates, ["head.tag[0]+head.lower[0]", "head.lower[0]+head.tag[0]"]),
        (parse_arc_templates, ["mod.tag[0]+distance", "distance+mod.tag[-0]"]),
        (parse_arc_templates, ["mod.tag[0]+between.tag", "between.tag+mod.tag[0]"]),
    ],
)
def test_templates_that_say_the_same_are_refused(parse, texts):
    with pytest.raises(ValueError, match=r"says the same as .* remove one") as refusal:
        parse(texts)
    assert f'"{texts[-1]}"' in str(refusal.value)


def test_what_is_no_list_of_templates_is_refused():
    for parse, complaint in ((parse_template, "feature template 3"), (parse_arc_template, "arc template 3")):
        with pytest.raises(ValueError, match=f"{complaint} is not a string"):
            parse(3)
    with pytest.raises(ValueError, match="empty"):
        parse_templates([])


@pytest.mark.parametrize(
    ("texts", "settings", "complaint"),
    [
        (["bias", "gazetteer.city[0]"], {}, r'"gazetteer\.city\[0\]" reads a gazetteer .* none'),
        (["gazetteer.city[0]"], {"gazetteers": {"people": "a"}}, r'"gazetteer\.city\[0\]" reads a gazetteer .* people'),
        (["cluster4[0]"], {}, r'"cluster4\[0\]" reads cluster, which features\.clusters .* none'),
        (["cluster.b[0]"], {"clusters": {"a": "x"}}, r"reads cluster\.b, .*cluster\.a"),
        (["class.b[0]"], {"clusters": "x"}, r"reads class\.b, which features\.classes .*cluster"),
        (["bias"], {"clusters": {"a b": "x"}}, r'features\.clusters: the name "a b"'),
        (["bias"], {"classes": {"": "x"}}, r'features\.classes: the name ""'),
        *((["bias"], {"hash_bits": bits}, "hash_bits") for bits in (0, -1, 31)),
    ],
)
def test_a_set_names_what_is_missing(texts, settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        templates(texts, **settings)


@pytest.mark.parametrize("features", [tagger_features, ner_features])
def test_resources_extend_the_ready_sets(features):
    plain = {str(template) for template in features().templates}
    full = features(gazetteers={"city": "city.txt"}, clusters="brown.txt", extra=["_.room[0]"], hash_bits=20)
    added = {str(template) for template in full.templates} - plain
    assert {"gazetteer.city[0]", "cluster[0]", "cluster4[0]", "_.room[0]"} <= added
    assert full.hash_bits == 20 and full.resources.gazetteers["city"].path.name == "city.txt"
    with pytest.raises(ValueError, match='"bias" says the same'):
        features(extra=["bias"])
