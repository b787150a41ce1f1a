"""A headless Chromium for the tests, and what to do where there is none."""

import base64
import contextlib
import json
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

PLAYER = "window.phinmfPlayer"
#: a function of a page, a sample and a number of samples: what would be heard, computed instead of
#: played, on the left and on the right
RENDER = """(async ({ player, Run }, start, count) => {
  const { loop, sounds } = player;
  player.seek(start);
  while (sounds.upcoming && !sounds.upcoming.every((from) => sounds.piece(from))) {
    await new Promise((done) => setTimeout(done, 10));
  }
  const { sample_rate: rate } = sounds.version;
  const offline = new OfflineAudioContext(2, count + rate, rate);
  const run = new Run(offline, sounds, player.gains, start);
  run.extend(loop, 1 + count / rate);
  run.fader.gain.cancelScheduledValues(0);
  run.fader.gain.value = 1; // without fading in
  const [{ at }] = run.pieces;
  const heard = await offline.startRendering();
  return [0, 1].map((side) => heard.getChannelData(side).slice(at, at + count));
})"""
#: a function of arrays of numbers: what they hold, as text
BASE64 = """((arrays) => arrays.map((a) => {
  const bytes = new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) {
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return btoa(text);
}))"""
SCREENSHOTS = Path(__file__).parents[1] / "out" / "screenshots"
#: elements that stick out of the window and cannot be scrolled to within an element of their own
TOO_WIDE = """[...document.querySelectorAll("body *")].filter((e) => {
  const scrolls = (p) => p && (/(auto|scroll|hidden|clip)/.test(getComputedStyle(p).overflowX)
    || scrolls(p.parentElement));
  const box = e.getBoundingClientRect();
  return box.width && e.checkVisibility() && !scrolls(e.parentElement)
    && (box.right > innerWidth + 1 || box.left < -1);
}).map((e) => e.outerHTML.slice(0, 100))"""
#: buttons and fields that a finger can hardly hit
TOO_SMALL = """[...document.querySelectorAll("button, select, input:not([type=file])")]
  .filter((e) => e.checkVisibility()).filter((e) => {
    const box = (e.closest("label") ?? e).getBoundingClientRect();
    return Math.min(box.width, box.height) < 24;
  }).map((e) => e.outerHTML.slice(0, 120))"""
#: the contrast of every text of a page, its colours painted one over the other as on the screen
CONTRAST = """(() => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const paint = (colour) => { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); };
  const pixel = () => [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  const luminance = (c) => c.map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const above = (e) => (e ? [...above(e.parentElement), e] : []);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    const words = texts.currentNode.data.trim();
    if (!words || e.closest(".hidden, style, title, script, :disabled")) continue;
    if (!e.checkVisibility({ visibilityProperty: true })) continue;
    const style = getComputedStyle(e);
    paint("Canvas");
    for (const each of above(e)) paint(getComputedStyle(each).backgroundColor);
    const paper = pixel();
    pen.globalAlpha = above(e).reduce((a, each) => a * getComputedStyle(each).opacity, 1);
    paint(e.closest("svg") ? style.fill : style.color);
    pen.globalAlpha = 1;
    const ink = pixel();
    const [a, b] = [luminance(ink), luminance(paper)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), words, `${ink}`, `${paper}`]);
  }
  return found;
})()"""


@contextlib.contextmanager
def chromium():
    """Start Chromium; a gesture is needed before it makes a sound, as on a visitor's machine."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not (browser and driver):
        pytest.skip("chromium or chromedriver is not installed")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for argument in (
            "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--disable-dev-shm-usage", f"--user-data-dir={profile}",
            "--autoplay-policy=document-user-activation-required",
        ):  # fmt: skip
            options.add_argument(argument)
        started = webdriver.Chrome(options, webdriver.ChromeService(driver))
        try:
            yield Browser(started)
        finally:
            started.quit()


class Browser:
    """Chromium in the words of the tests."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path):
        """Open a file."""
        self.visit(path.resolve().as_uri())

    def visit(self, address):
        """Open an address, and forget what was said and asked for before."""
        self.driver.get("about:blank")
        self.errors(), self.requests()
        self.driver.get(address)

    def js(self, code, *arguments):
        return self.driver.execute_script(f"return {code}", *arguments)

    def do(self, code):
        """Run statements that return nothing."""
        self.driver.execute_script(code)

    def resolved(self, promise):
        """What a promise comes to."""
        code = f"const done = arguments[0]; ({promise}).then(done, (e) => done('failed: ' + e))"
        return self.driver.execute_async_script(code)

    def until(self, code, seconds=10):
        end = time.monotonic() + seconds
        while not (value := self.js(code)):
            assert time.monotonic() < end, f"after {seconds} seconds still not: {code}"
            time.sleep(0.02)
        return value

    def click(self, selector, x=0.5, y=0.5):
        """Click with the mouse, at a share of the element's width and height."""
        from selenium.webdriver import ActionChains

        element = self.driver.find_element("css selector", selector)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        box = self.js("arguments[0].getBoundingClientRect().toJSON()", element)
        dx, dy = round((x - 0.5) * box["width"]), round((y - 0.5) * box["height"])
        ActionChains(self.driver).move_to_element_with_offset(element, dx, dy).click().perform()

    def drag(self, selector, onto, x=0.5, to=0.5, touch=False):
        """Drag from a share of the width of an element to one of another element's."""
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.actions.pointer_input import PointerInput

        ends = []
        for each, share in ((selector, x), (onto, to)):
            element = self.driver.find_element("css selector", each)
            width = self.js("arguments[0].getBoundingClientRect().width", element)
            ends.append((element, round((share - 0.5) * width)))
        hand = PointerInput("touch", "finger") if touch else PointerInput("mouse", "hand")
        actions = ActionChains(self.driver, duration=100, devices=[hand])
        (first, right), (second, further) = ends
        actions.move_to_element_with_offset(first, right, 0).click_and_hold()
        actions.move_to_element_with_offset(second, further, 0).release().perform()

    def press(self, keys, shift=False):
        """Press keys, wherever the focus is."""
        from selenium.webdriver import ActionChains, Keys

        actions = ActionChains(self.driver)
        if shift:
            actions = actions.key_down(Keys.SHIFT)
        actions = actions.send_keys(keys)
        if shift:
            actions = actions.key_up(Keys.SHIFT)
        actions.perform()

    def look(self, width, height, scheme="light", mobile=False, motion="no-preference"):
        """Set the size of the window, and the colours and movements the visitor prefers."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
        features = [{"name": name, "value": value} for name, value in wanted.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": mobile})

    def screenshot(self, path):
        """The whole page, as long as it is."""
        path.parent.mkdir(parents=True, exist_ok=True)
        how = {"captureBeyondViewport": True, "format": "png"}
        png = self.driver.execute_cdp_cmd("Page.captureScreenshot", how)["data"]
        path.write_bytes(base64.b64decode(png))

    def errors(self):
        """What the console says, since the last time."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Addresses asked for, since the last time; not those whose contents they are."""
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        asked = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [p["request"]["url"] for p in asked if not p["request"]["url"].startswith("data:")]


def gains(page):
    """Of the mixture and the parts, as they are wanted; while it plays, the nodes follow them."""
    wanted = page.js(f"{PLAYER}.mix.gains")
    if page.js(f"{PLAYER}.player.playing"):
        close = f"Math.abs(gain.value - {PLAYER}.mix.gains[i]) < 0.01"
        page.until(f"{PLAYER}.player.run.volumes.every(({{ gain }}, i) => {close})")
    assert wanted[::2] == wanted[1::2]  # nothing is panned
    return wanted[::2]


def arrays(page, promise, *types):
    """What a promise of typed arrays comes to."""
    found = page.resolved(f"({promise}).then({BASE64})")
    assert isinstance(found, list), found
    return [
        np.frombuffer(base64.b64decode(text), kind) for text, kind in zip(found, types, strict=True)
    ]


def rendered(page, name, start, count):
    """Left and right of what a page would play from a sample on: (2, count)."""
    return np.array(arrays(page, f"{RENDER}({name}, {start}, {count})", "<f4", "<f4"))


def position(page):
    """Seconds from the beginning of the preview."""
    return page.js(f"{PLAYER}.player.position / {PLAYER}.player.version.sample_rate")


def start(page):
    page.click(".play")
    page.until(f"{PLAYER}.player.playing && {PLAYER}.player.position > 0")
