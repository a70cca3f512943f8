import pytest

from spacy_ssvm.features.arc_program import compile_arc_templates
from spacy_ssvm.features.arc_sets import arc_templates, parser_features
from spacy_ssvm.features.arc_templates import parse_arc_template, parse_arc_templates
from spacy_ssvm.features.templates import MAX_OFFSET


@pytest.mark.parametrize(
    ("text", "kind", "words", "between", "relation"),
    [
        ("head.tag[0]", "arc", {"head": [("tag", 0)]}, None, ""),
        ("mod.lower[-1]", "arc", {"mod": [("lower", -1)]}, None, ""),
        ("head.tag[0]+mod.tag[0]", "arc", {"head": [("tag", 0)], "mod": [("tag", 0)]}, None, ""),
        (" head.tag[0] + mod.pos[2] + distance ", "arc", {"head": [("tag", 0)], "mod": [("pos", 2)]}, None, "distance"),
        ("head.tag[1]+head.lower[0]+direction", "arc", {"head": [("tag", 1), ("lower", 0)]}, None, "direction"),
        ("direction", "arc", {}, None, "direction"),
        ("between.tag+distance", "arc", {}, "tag", "distance"),
        ("mod.tag[0]+between.pos", "arc", {"mod": [("tag", 0)]}, "pos", ""),
        ("head._.room[0]+between._.room", "arc", {"head": [("_.room", 0)]}, "_.room", ""),
        ("sib.tag[0]+direction", "sibling", {"sib": [("tag", 0)]}, None, "direction"),
        ("head.tag[0]+sib.cluster4[-1]", "sibling", {"head": [("tag", 0)], "sib": [("cluster4", -1)]}, None, ""),
        ("grand.tag[0]+mod.tag[0]", "grandparent", {"grand": [("tag", 0)], "mod": [("tag", 0)]}, None, ""),
        (f"mod.tag[-{MAX_OFFSET}]", "arc", {"mod": [("tag", -MAX_OFFSET)]}, None, ""),
    ],
)
def test_template_is_read(text, kind, words, between, relation):
    template = parse_arc_template(text)
    assert {role: [(part.attribute, part.offset) for part in word.parts] for role, word in template.words.items()} == (
        words
    )
    assert (template.kind, template.between, template.relation) == (kind, between, relation)
    assert parse_arc_template(str(template)) == template


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("mod.tag[0]+head.tag[0]", "head.tag[0]+mod.tag[0]"),
        ("distance+between.tag+mod.tag[0]", "mod.tag[0]+between.tag+distance"),
        ("mod.lower[0]+grand.tag[1]+head.tag[0]+mod.tag[0]", "head.tag[0]+mod.lower[0]+mod.tag[0]+grand.tag[1]"),
        ("sib.tag[-0]+direction+mod.tag[0]", "mod.tag[0]+sib.tag[0]+direction"),
    ],
)
def test_template_is_written_in_the_order_of_the_roles(text, written):
    assert str(parse_arc_template(text)) == written


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "cannot read"),
        ("tag[0]", "cannot read"),
        ("head.", "cannot read"),
        ("child.tag[0]", 'cannot read "child'),
        ("between.tag[0]+mod.tag[0]", "cannot read"),
        ("head.tag[0]+length", "cannot read"),
        ("head.tag[x]", "cannot read"),
        ("head.bias", "cannot read"),
        (r"head.\1[0]", r'": cannot read "\\1'),
        ("head.ta:g[0]", '": cannot read "ta:g'),
        ("mod.tag[0]+between.1x", 'cannot read "between.1x"; write head'),
        ("mod.lowr[0]", "did you mean lower"),
        ("mod.tag[0]+between.lowr", "did you mean lower"),
        (f"head.tag[{MAX_OFFSET + 1}]", "offset 101"),
        ("head.tag[0]+mod.tag[0]+head.tag[0]", "twice"),
        ("mod.tag[0]+mod.tag[-0]", "twice"),
        ("mod.tag[0]+between.tag+between.pos", "twice"),
        ("mod.tag[0]+direction+direction", "twice"),
        ("mod.tag[0]+direction+distance", "both direction and distance"),
        ("between.tag", "neither"),
        ("sib.tag[0]+grand.tag[0]", "sibling and a grandparent"),
        ("sib.tag[0]+between.tag", "third word"),
        ("grand.tag[0]+between.tag", "third word"),
    ],
)
def test_bad_template_is_refused_by_name(text, complaint):
    with pytest.raises(ValueError, match=complaint) as refusal:
        parse_arc_template(text)
    assert str(refusal.value).startswith(f'arc template "{text}"')
    assert "feature template" not in str(refusal.value)


def test_templates_that_differ_in_one_thing_are_kept_in_order():
    texts = ["mod.tag[0]", "head.tag[0]", "mod.tag[1]", "mod.pos[0]", "mod.tag[0]+direction", "mod.tag[0]+distance"]
    assert list(map(str, parse_arc_templates(texts))) == texts
    assert parse_arc_templates([]) == ()


@pytest.mark.parametrize("third", ["sib.tag[0]+mod.tag[0]", "grand.tag[0]"])
def test_labels_and_the_first_pass_see_single_arcs(third):
    arc, pair = parse_arc_templates(["mod.tag[0]"]), parse_arc_templates([third])
    assert compile_arc_templates(pair, arc, arc).attributes == ("tag",)
    for groups in ((arc, pair, arc), (arc, arc, pair)):
        with pytest.raises(ValueError, match="reads a third word") as refusal:
            compile_arc_templates(*groups)
        assert str(pair[0]) in str(refusal.value)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"arcs": ["mod.gazetteer.city[0]"]}, r'"mod\.gazetteer\.city\[0\]" reads a gazetteer'),
        ({"labels": ["head.cluster4[0]"]}, r'"head\.cluster4\[0\]" reads cluster, which features\.clusters'),
        (
            {"arcs": ["head.tag[0]+between.class.x+mod.tag[0]"]},
            r"reads class\.x, which features\.classes does",
        ),
        ({"arcs": []}, r"features\.arcs.*empty"),
        ({"first_pass": []}, r"features\.first_pass.*empty"),
        *(({"hash_bits": bits}, r"features\.hash_bits") for bits in (7, 29)),
        *(({"label_hash_bits": bits}, r"features\.label_hash_bits") for bits in (7, 29)),
    ],
)
def test_a_set_names_what_is_missing(changed, complaint):
    with pytest.raises(ValueError, match=complaint):
        arc_templates(**{"arcs": ["mod.tag[0]"], "labels": [], "first_pass": ["mod.tag[0]"], **changed})


def test_the_ready_set_needs_tags():
    with pytest.raises(ValueError, match=r"features\.tags is empty"):
        parser_features(tags=())


@pytest.mark.parametrize("tags", [("tag",), ("tag", "pos"), ("pos", "tag", "morph")])
@pytest.mark.parametrize("lemmas", [False, True])
def test_the_ready_set_reads_its_tags_and_has_every_kind(tags, lemmas):
    """And lemmas and single features if it is to."""
    features = parser_features(tags=tags, lemmas=lemmas)
    # Labels read the first and the last tags.
    for templates, wanted in ((features.arcs, {*tags}), (features.labels, {tags[0], tags[-1]})):
        read = {part.attribute for t in templates for word in t.words.values() for part in word.parts}
        assert wanted <= read and not read & ({"tag", "pos", "morph"} - set(tags))
        assert ("lemma" in read) == lemmas
        assert ({"morph.Case", "morph.Number"} <= read) == ("morph" in tags)
    assert {template.kind for template in features.arcs} == {"arc", "sibling", "grandparent"}
    assert {template.kind for template in (*features.labels, *features.first_pass)} == {"arc"}


def test_named_resources_extend_the_ready_set():
    plain = parser_features()
    full = parser_features(
        clusters={"a": "a.txt", "b": "b.txt"}, classes={"c": "c.txt"}, gazetteers={"city": "city.txt"}
    )
    added = set(map(str, full.arcs)) - set(map(str, plain.arcs))
    assert {f"head.{name}[0]+mod.{name}[0]+distance" for name in ("cluster6.a", "cluster.b", "class.c")} <= added
    assert full.first_pass == plain.first_pass and full.resources.classes["cluster.b"].path.name == "b.txt"
    labels = set(map(str, full.labels))
    assert {f"mod.{name}[0]+direction" for name in ("cluster.a", "class.c", "gazetteer.city")} <= labels
