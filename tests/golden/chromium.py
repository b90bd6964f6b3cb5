"""Headless Chromium as a test wants it: pages opened, measured and photographed.

Talks the DevTools protocol over the browser's debugging pipe: one JSON message after another, each
ended by a zero byte, on the file descriptors 3 (to the browser) and 4 (from it). Needs nothing but
Debian's package chromium.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def installed():
  return shutil.which("chromium") is not None


class ChromiumError(Exception):
  """The browser did not start, died, or refused a command."""


class Chromium:
  """One browser with one page. A context manager; not thread-safe."""

  def __init__(self, timeout=120):
    self._timeout = timeout
    self._profile = tempfile.mkdtemp(prefix="autotune-chromium-")
    to_read, self._to = os.pipe()
    self._from, from_write = os.pipe()
    high = [os.dup(to_read), os.dup(from_write)]  # never 3 or 4 by accident

    def pipes():
      os.dup2(high[0], 3)
      os.dup2(high[1], 4)

    self._process = subprocess.Popen(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--hide-scrollbars", "--no-first-run", "--disable-extensions", "--mute-audio",
         "--disable-background-networking", "--font-render-hinting=none",
         "--force-color-profile=srgb", "--disable-lcd-text",
         f"--user-data-dir={self._profile}", "--remote-debugging-pipe", "about:blank"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        close_fds=False, preexec_fn=pipes)
    for end in [to_read, from_write, *high]:
      os.close(end)
    self._buffer = b""
    self._next = 0
    self._events = []
    self._session = None
    self._attach()

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self.close()

  def close(self):
    try:
      self._send("Browser.close", {}, session=False)
      self._process.wait(20)
    except (ChromiumError, OSError, subprocess.TimeoutExpired):
      self._process.kill()
      self._process.wait()
    os.close(self._to)
    os.close(self._from)
    shutil.rmtree(self._profile, ignore_errors=True)

  # ---- The protocol

  def _send(self, method, params, session=True):
    self._next += 1
    message = {"id": self._next, "method": method, "params": params}
    if session and self._session:
      message["sessionId"] = self._session
    os.write(self._to, json.dumps(message).encode() + b"\0")
    return self._next

  def _receive(self, deadline):
    while b"\0" not in self._buffer:
      left = deadline - time.monotonic()
      if left <= 0 or not select.select([self._from], [], [], left)[0]:
        raise ChromiumError("the browser does not answer")
      data = os.read(self._from, 1 << 20)
      if not data:
        raise ChromiumError("the browser died")
      self._buffer += data
    message, self._buffer = self._buffer.split(b"\0", 1)
    return json.loads(message)

  def call(self, method, **params):
    """Sends a command and returns its result."""
    deadline = time.monotonic() + self._timeout
    number = self._send(method, params)
    while True:
      message = self._receive(deadline)
      if message.get("id") == number:
        if "error" in message:
          raise ChromiumError(f"{method}: {message['error']['message']}")
        return message["result"]
      if "method" in message:
        self._events.append(message)

  def _attach(self):
    deadline = time.monotonic() + self._timeout
    while True:  # the page may come a little after the browser
      pages = [target for target in self.call("Target.getTargets")["targetInfos"]
               if target["type"] == "page"]
      if pages or time.monotonic() > deadline:
        break
      time.sleep(0.1)
    self._session = self.call("Target.attachToTarget", targetId=pages[0]["targetId"],
                              flatten=True)["sessionId"]
    for domain in ["Page", "Runtime", "Log"]:
      self.call(f"{domain}.enable")

  # ---- What tests do

  def resize(self, width, height=900, dark=False, medium=""):
    """The window as the next page finds it: its size in pixels, the reader's theme, paper or not."""
    self._window = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    self.call("Emulation.setDeviceMetricsOverride", **self._window)
    self.call("Emulation.setEmulatedMedia", media=medium, features=[
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

  def open(self, path):
    """Opens a file and waits until it is loaded and drawn. Returns the seconds that it took."""
    self._events = []
    start = time.monotonic()
    self.call("Page.navigate", url=path.resolve().as_uri())
    while not any(event["method"] == "Page.loadEventFired" for event in self._events):
      message = self._receive(start + self._timeout)
      if "method" in message:
        self._events.append(message)
    # The frame after the next one has been painted with all that loading drew.
    self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return time.monotonic() - start

  def evaluate(self, expression):
    """The value of a JavaScript expression; a promise is waited for."""
    result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                       awaitPromise=True)
    if "exceptionDetails" in result:
      raise ChromiumError(str(result["exceptionDetails"]))
    return result["result"].get("value")

  def problems(self):
    """What the console, the policy and the engine complained about since the page was opened."""
    self.evaluate("0")  # collects what is under way
    found = []
    for event in self._events:
      params = event["params"]
      if event["method"] == "Runtime.exceptionThrown":
        details = params["exceptionDetails"]
        found.append(details.get("exception", {}).get("description", details["text"]))
      elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in (
          "error", "warning", "assert"):
        found.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
      elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
        found.append(params["entry"]["text"])
    return found

  def photograph(self):
    """The whole page, however long, as the bytes of a PNG file."""
    height = self.evaluate("document.documentElement.scrollHeight")
    width = self.evaluate("window.innerWidth")
    # In a window of that height everything is painted, while a busy machine leaves out what lies
    # beyond the window's end.
    self.call("Emulation.setDeviceMetricsOverride", **{**self._window, "height": height})
    self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                        clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})["data"]
    self.call("Emulation.setDeviceMetricsOverride", **self._window)
    return base64.b64decode(picture)

  def print(self):
    """The page on A4 paper, as the bytes of a PDF file."""
    return base64.b64decode(self.call(
        "Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)["data"])
