"""The studio's page looked at: widths, colours, keyboard, names for screen readers."""

import pytest
from browser import CONTRAST, SCREENSHOTS, TOO_SMALL, TOO_WIDE
from studio_page import STUDIO, groups, until_saved

pytestmark = pytest.mark.full

ENTER, ESCAPE, TAB = "\ue007", "\ue00c", "\ue004"
PHONE = 390
#: whether the element with the focus looks different because of it
SHOWN = """(() => {
  const e = document.activeElement;
  const looks = () => [e, e.closest(".row") ?? e].map((each) => {
    const style = getComputedStyle(each);
    return ["outline", "boxShadow", "backgroundColor", "borderColor"].map((name) => style[name]);
  }).join();
  const focused = looks();
  e.blur();
  const not = looks();
  e.focus({ preventScroll: true });
  return focused !== not;
})()"""


def grouped(page):
    """Make two groups, with the keyboard."""
    for first, name in ((0, "drums"), (3, "lead guitar")):
        page.do(f"{STUDIO}.rows.focus({STUDIO}.rows.components[{first}])")
        page.press("x\ue015x" + "g" + name + ENTER)
    page.press(ESCAPE)
    until_saved(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(few, scheme):
    few.look(1280, 1000, scheme)
    grouped(few)
    few.press("1")
    few.press("x")
    few.click("[popovertarget=again]")
    found = few.js(CONTRAST)
    assert len(found) > 50
    assert [text for text in found if text[0] < 4.5] == []
    red = few.js("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
    assert (red < 60) == (scheme == "dark")
    few.press(ESCAPE + "?")
    assert [text for text in few.js(CONTRAST) if text[0] < 4.5] == []
    few.press(ESCAPE)


@pytest.mark.parametrize("width", [320, PHONE, 800, 1280, 1920])
def test_nothing_sticks_out_of_the_window(many, width):
    page = many
    grouped(page)
    page.look(width, 844, "light", mobile=width < 500)
    assert page.js("document.documentElement.scrollWidth") <= width
    assert page.js(TOO_WIDE) == []
    page.screenshot(SCREENSHOTS / f"studio_{width}.png")
    if width <= PHONE:
        assert page.js(TOO_SMALL) == []


def test_a_phone_is_enough(few):
    few.look(PHONE, 844, mobile=True)
    few.drag("[data-component='2'] .handle", "[data-component='3']", touch=True)
    assert groups(few) == {"Group 1": [2, 3]}
    few.press("pair" + ENTER)
    few.do("document.querySelector('.original').scrollIntoView({block: 'center'})")
    few.drag(".original .lane", ".original .lane", x=0.2, to=0.6, touch=True)
    loop = few.js(f"{STUDIO}.player.loop")
    assert loop["start"] == pytest.approx(6400, abs=300)
    assert loop["end"] == pytest.approx(19_200, abs=300)
    few.click(".play")
    few.until(f"{STUDIO}.playing && {STUDIO}.position > 7000")
    few.click("[data-group=pair] [data-action=solo]")
    assert few.js(f"[...{STUDIO}.mix.solos]") == [2, 3]
    few.click(".play")
    assert not few.js(f"{STUDIO}.playing")


def test_nothing_moves_for_those_who_do_not_want_it(few):
    few.look(1280, 1000, motion="reduce")
    moving = few.js(
        "[...document.querySelectorAll('*')].filter((e) => { const s = getComputedStyle(e);"
        " return parseFloat(s.transitionDuration) || s.animationName !== 'none'; })"
        ".map((e) => e.outerHTML.slice(0, 80))"
    )
    assert moving == []


def test_every_control_has_a_name(few):
    grouped(few)
    few.click("[popovertarget=again]")
    tree = few.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "slider", "checkbox", "textbox", "tab", "combobox", "spinbutton", "link"}
    controls = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree
        if not node["ignored"] and node["role"]["value"] in roles
    ]
    assert len(controls) > 40
    assert [one for one in controls if not one[1].strip()] == []
    assert len(set(controls)) > 0.8 * len(controls)  # names that tell the rows apart
    assert few.js("document.documentElement.lang") == "en"
    assert few.js("document.querySelectorAll('h1').length") == 1


def test_tab_reaches_everything_and_leaves_again(few):
    grouped(few)
    few.driver.refresh()
    few.until(f"{STUDIO}?.rows.overview")
    few.press("1", shift=True)  # something to undo
    reached, seen = set(), []
    for _ in range(400):
        few.press(TAB)
        if few.js("document.activeElement === document.body"):
            break
        here = few.js(
            "((e) => [e.dataset.action ?? e.dataset.export ?? e.getAttribute('popovertarget')"
            " ?? e.className ?? e.tagName,"
            " e.ariaLabel ?? e.textContent])(document.activeElement)"
        )
        reached.add(here[0])
        seen.append(here)
        assert few.js(SHOWN), here
    else:
        raise AssertionError("the focus never leaves the page")
    wanted = {
        "keys", "choose", "groups", "components", "mix", "play", "original", "loop",
        "undo", "reset", "zoom-in", "zoom-out", "zoom-all", "solo", "mute", "gain", "pan",
        "select", "move", "title", "fold", "ungroup",
    }  # fmt: skip
    assert wanted <= reached
    assert len(seen) > 50
