"""Groups on the studio's page: by dragging, by clicking, and with the keyboard alone."""

import numpy as np
import pytest
from studio_page import STUDIO, groups, text, until_saved

pytestmark = pytest.mark.full

DOWN, ENTER, ESCAPE = "\ue015", "\ue007", "\ue00c"
MENU = "document.querySelector('#menu:popover-open')"


def row(number):
    return f"[data-component='{number}']"


def group(name):
    return f"[data-group='{name}']"


def handle(number):
    return f"{row(number)} .handle"


def heard(page):
    """Numbers of the components that sound."""
    left = np.array(page.js(f"{STUDIO}.mix.gains")).reshape(-1, 2)[1:, 0]
    return (np.flatnonzero(left) + 1).tolist()


def focused(page):
    return page.js("document.activeElement.outerHTML.slice(0, 80)")


def test_groups_are_made_by_dragging(few, server, unmixed):
    few.drag(handle(4), "#title")  # ends nowhere
    assert groups(few) == {}
    assert not few.js("document.querySelector('.ghost')")
    for number in (1, 4):
        few.click(f"{row(number)} [data-action=select]")
    few.drag(handle(4), "[data-drop=new]")  # what is selected comes along
    assert groups(few) == {"Group 1": [1, 4]}
    few.press(ENTER + "z")
    few.drag(handle(2), row(5))
    assert groups(few) == {"Group 1": [2, 5]}
    few.press("lead guitar" + ENTER)  # its name is being written
    few.drag(handle(3), group("lead guitar"))
    assert groups(few) == {"lead guitar": [2, 3, 5]}
    few.drag(handle(6), "[data-drop=new]")
    few.press("bass" + ENTER)
    few.drag(handle(5), group("bass"))
    few.drag(handle(3), "[data-drop=rest]")
    assert groups(few) == {"lead guitar": [2], "bass": [5, 6]}
    until_saved(few)
    saved = server.version(unmixed / "few" / "song")["groups"]
    assert {each["name"]: each["components"] for each in saved} == groups(few)
    assert len({each["colour"] for each in saved}) == 2


def test_a_group_is_made_by_clicks_and_heard_at_once(few):
    few.click(f"{row(2)} [data-action=select]")
    few.click(f"{row(4)} [data-action=select]")
    assert text(few, ".chosen") == "2 selected"
    few.click(".tools [data-action=group]")
    few.press("drums" + ENTER)
    few.click(f"{group('drums')} [data-action=solo]")
    assert heard(few) == [2, 4]
    few.click(f"{row(4)} [data-action=solo]")
    solo = f'document.querySelector("{group("drums")} [data-action=solo]").ariaPressed'
    assert (heard(few), few.js(solo)) == ([2], "mixed")
    few.click(f"{group('drums')} [data-action=solo]")
    few.click(f"{group('drums')} [data-action=mute]")
    assert heard(few) == []
    few.click(f"{group('drums')} [data-action=solo]")
    assert heard(few) == [1, 3, 5, 6]
    assert few.js(f'getComputedStyle(document.querySelector("{row(2)} canvas")).color') == few.js(
        f'getComputedStyle(document.querySelector("{group("drums")} canvas")).color'
    )
    few.click(f"{group('drums')} .fold")
    assert not few.js(f'document.querySelector("{row(2)}")')
    few.click(f"{group('drums')} .fold")
    few.click(f"{group('drums')} [data-action=ungroup]")
    assert groups(few) == {}


def test_the_keyboard_alone_is_enough(few):
    few.press(DOWN + DOWN)
    assert 'data-component="1"' in focused(few)
    few.press("x" + DOWN + "x" + "g")
    assert groups(few) == {"Group 1": [1, 2]}
    few.press("rhythm" + ENTER)
    assert groups(few) == {"rhythm": [1, 2]}
    assert 'data-group="rhythm"' in focused(few)
    few.press("s")
    assert heard(few) == [1, 2]
    few.press(DOWN + "m")  # a component of the group
    assert heard(few) == [2]
    few.press("..")
    assert few.js(f"{STUDIO}.mix.levels[0].gain_db") == 2
    few.press(DOWN + DOWN)
    assert 'data-component="3"' in focused(few)
    few.press("v")  # the menu with the groups
    few.press(ENTER)
    assert groups(few) == {"rhythm": [1, 2, 3]}
    few.press("v" + ESCAPE)
    assert not few.js(MENU)
    few.press("n" + "all of it" + ENTER + "u")
    assert groups(few) == {}
    few.press("z")
    assert groups(few) == {"all of it": [1, 2, 3]}
    few.do("document.querySelector('[data-export=mix]').focus()")
    few.press(ENTER)
    few.until("document.querySelector('[data-notice=export]')", 30)
    few.press("?")
    assert few.js("document.querySelector('#keys:popover-open')")
    few.press(ESCAPE)
    assert not few.js("document.querySelector('#keys:popover-open')")


def test_a_name_that_no_file_can_have_becomes_one_that_it_can(few, server, unmixed):
    few.press(DOWN + DOWN + "g" + "Bass" + ENTER + DOWN * 3 + "g")
    typed = {
        "  ": "Group 1", "REST": "Group REST", "bass": "bass 2", "a/b": "a b", ".hidden": "hidden",
        "con.x": "Group con.x", "x" * 61: "x" * 50, "last . ": "last",
    }  # fmt: skip
    for name, shown in typed.items():
        few.press(name + ENTER)
        assert list(groups(few)) == ["Bass", shown]
        assert few.js(f'document.querySelector("{group(shown)} .title").value') == shown
        until_saved(few)
        saved = server.version(unmixed / "few" / "song")["groups"]
        assert [one["name"] for one in saved] == ["Bass", shown]
        few.press("n")
    few.press("other" + ESCAPE)
    assert list(groups(few)) == ["Bass", "last"]


def test_undo_and_redo(few):
    undo, redo = (f"document.querySelector('[data-action={name}]').disabled" for name in
                  ("undo", "redo"))  # fmt: skip
    export = "document.querySelector('[data-export=groups]').disabled"
    assert few.js(f"[{undo}, {redo}, {export}]") == [True, True, True]
    few.drag(handle(2), row(5))
    few.press("one" + ENTER)
    assert few.js(export) is False  # there are groups that can be taken away
    few.drag(f"{row(1)} [data-action=gain]", f"{row(1)} [data-action=gain]", x=0.8, to=0.2)
    low = few.js(f"{STUDIO}.mix.levels[0].gain_db")
    assert low < -30
    few.click("[data-action=undo]")  # a movement of a fader is one step
    assert few.js(f"{STUDIO}.mix.levels[0].gain_db") == 0
    few.press("z")
    assert groups(few) == {"Group 1": [2, 5]}
    few.press("z")
    assert groups(few) == {}
    assert few.js(f"[{undo}, {redo}]") == [True, False]
    for _ in range(2):
        few.press("z", shift=True)
    few.click("[data-action=redo]")
    assert groups(few) == {"one": [2, 5]}
    assert few.js(f"{STUDIO}.mix.levels[0].gain_db") == low
    few.press("z")
    few.drag(handle(1), row(3))  # a new change: nothing to redo
    assert few.js(redo) is True


def test_what_is_alike_is_grouped_at_once_and_undone(few, server, unmixed):
    few.drag(handle(2), row(5))
    few.press("mine" + ENTER)
    few.click("[data-action=alike]")
    sizes = few.js("[...document.querySelectorAll('#menu button')].map(e => e.textContent)")
    assert sizes == [f"{n} groups" for n in range(2, 7)]  # of six components
    few.press(DOWN + ENTER)
    assert len(groups(few)) == 3
    assert sorted(number for numbers in groups(few).values() for number in numbers) == [
        *range(1, 7)
    ]
    until_saved(few)
    assert [one["name"] for one in server.version(unmixed / "few" / "song")["groups"]] == [
        *groups(few)
    ]
    few.press("z")
    assert groups(few) == {"mine": [2, 5]}
    few.press("k" + ESCAPE)
    assert groups(few) == {"mine": [2, 5]}
    few.press("k")
    few.click("#title")  # a click beside the menu closes it, and nothing else
    assert not few.js(MENU)
