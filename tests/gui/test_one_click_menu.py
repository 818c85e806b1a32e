"""The menu of the window: what is wanted most is one click away, all else by section."""

from __future__ import annotations

from gui.main_window.menus import DIRECT_ACTIONS, MENUS, action_menu
from gui.words.text import tr


def test_what_is_wanted_most_is_one_click_away(frame):
    known = frame.window.actions_known
    menu = action_menu(known, frame.theme, frame.window)
    direct = [one.text().split("\t")[0] for one in menu.actions() if one.menu() is None and not one.isSeparator()]
    wanted = [known.get(action_id) for group in DIRECT_ACTIONS for action_id in group]
    assert direct == [action.text for action in wanted if action is not None]
    assert len(direct) >= 5
    sections = [one.text() for one in menu.actions() if one.menu() is not None]
    assert sections == [tr(name) for name in MENUS if any(action.section == name for action in known.actions())]
    menu.close()


def test_a_direct_entry_runs_its_action(frame):
    menu = action_menu(frame.window.actions_known, frame.theme, frame.window)
    ran = []
    frame.window.actions_known.run = ran.append
    menu.actions()[0].trigger()
    assert ran == ["file.palette"]
    menu.close()
