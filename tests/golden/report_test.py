"""The pages of reports in a real browser, and what they look like.

Usage: report_test.py AUTOTUNE_BINARY SOURCE_DIR [unittest options]

Needs what `scripts/setup report-tests` installs (Chromium, one font, Pillow) and skips itself without.
AUTOTUNE_UPDATE_GOLDEN=1 takes the pictures of tests/golden/pictures anew: look at each of them before
committing it. AUTOTUNE_PICTURES=FOLDER keeps the full-size pictures of a run there.
"""

import copy
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import chromium

try:
  from PIL import Image, ImageChops
except ImportError:
  Image = None

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
GOLDEN = SOURCE / "tests" / "golden"
RECORDING = SOURCE / "examples" / "alexnet" / "tpu_v3.pb"
TILE = 40  # of a picture that is reduced to an eighth
TOLERANCE = 0.04
RUNS = ["hardware", "replay", "estimate"]

# One font, whatever else is installed; the footer says how long a comparison took.
STYLE = (":root { --font: 'Liberation Sans'; --mono: 'Liberation Mono'; }"
         "footer { visibility: hidden; }")

# The colours that each canvas holds, and its size. A chart that drew nothing holds none.
CANVASES = """[...document.querySelectorAll('canvas')].map(c => {
  const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  const colors = new Set();
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 60) colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  }
  return {id: c.id, colors: colors.size, width: c.width, height: c.height};
})"""


def font_installed():
  found = subprocess.run(["fc-list", "Liberation Sans"], capture_output=True, text=True, check=False)
  return "Liberation" in found.stdout


def missing():
  if not chromium.installed():
    return "Debian's package chromium is not installed"
  if Image is None:
    return "Debian's package python3-pil is not installed"
  if not font_installed():
    return "Debian's package fonts-liberation is not installed"
  return None


def differing_share(a, b):
  """How much a picture differs from another of the same size: each pixel the mean of 4 x 4, the share of
  pixels that are more than 28 of 255 apart in a channel, in the tile where this share is largest."""
  small = [picture.convert("RGB").reduce(4) for picture in (a, b)]
  channels = ImageChops.difference(*small).split()
  largest = ImageChops.lighter(ImageChops.lighter(channels[0], channels[1]), channels[2])
  apart = largest.point([0] * 29 + [255] * 227)
  shares = [0.0]
  for left in range(0, apart.width, TILE):
    for top in range(0, apart.height, TILE):
      tile = apart.crop((left, top, min(left + TILE, apart.width), min(top + TILE, apart.height)))
      if tile.width * tile.height < TILE * TILE // 4:
        continue  # a sliver at the edge
      shares.append(tile.histogram()[255] / (tile.width * tile.height))
  return max(shares)


class ReportTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    reason = missing()
    if reason:
      raise unittest.SkipTest(f"{reason}: scripts/setup report-tests")
    cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="autotune-report-"))
    cls.browser = chromium.Chromium()
    cls.pages = {}
    for run in RUNS:
      cls.pages[run] = cls.folder / f"{run}.html"
      cls.autotune("report", GOLDEN / "reports" / f"{run}.json", "--html", cls.pages[run])
    # By a name and paths that are the same everywhere: the page shows the command.
    (cls.folder / "autotune").symlink_to(BINARY)
    shutil.copy(RECORDING, cls.folder / "tpu_v3.pb")
    cls.pages["comparison"] = cls.folder / "comparison.html"
    subprocess.run(["./autotune", "compare", "tpu_v3.pb", "--seeds", "20", "--quiet", "--html",
                    "comparison.html"], cwd=cls.folder, check=True, stdout=subprocess.DEVNULL)
    # Without LibTorch there is no model to evaluate. A name without a place to break it.
    long_name = "recording_" * 9 + ".pb"
    shutil.copy(RECORDING, cls.folder / long_name)
    evaluated = subprocess.run(
        ["./autotune", "evaluate", "--model", SOURCE / "weights" / "tile", "--data", long_name, "--all",
         "--html", "evaluation.html"], cwd=cls.folder, check=False, capture_output=True)
    if evaluated.returncode == 0:
      cls.pages["evaluation"] = cls.folder / "evaluation.html"

  @classmethod
  def tearDownClass(cls):
    cls.browser.close()
    shutil.rmtree(cls.folder, ignore_errors=True)

  @classmethod
  def autotune(cls, *arguments):
    return subprocess.run([BINARY, *map(str, arguments)], check=True, capture_output=True, text=True)

  def open(self, page, width=1280, dark=False, style=STYLE):
    """Opens a page with `style` added to its style sheet, before anything is drawn."""
    self.browser.resize(width, dark=dark)
    styled = self.folder / "styled.html"
    text = self.pages[page].read_text()
    styled.write_text(text.replace("</head>", f"<style>{style}</style></head>", 1))
    return self.browser.open(styled)

  def picture(self):
    return Image.open(io.BytesIO(self.browser.photograph())).convert("RGB")

  # ---- What a page does

  def test_a_mean_beside_its_interval_keeps_its_decimals(self):
    if "evaluation" not in self.pages:
      self.skipTest("no LibTorch, so no model to evaluate")
    self.open("evaluation", style=STYLE + """</style><script>
      const written = [], write = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function(text, ...where) {
        written.push(text);
        write.call(this, text, ...where);
      };
    </script><style>""")
    written = self.browser.evaluate("written")
    self.assertTrue([text for text in written if re.fullmatch(r"0\.\d{3,4}", text)], written)

  def test_every_chart_draws_and_nothing_complains(self):
    for page in self.pages:
      for width in [1280, 390]:
        with self.subTest(page=page, width=width):
          self.open(page, width)
          self.browser.evaluate(
              "document.querySelectorAll('details').forEach(d => { d.open = true; });"
              "new Promise(done => setTimeout(done, 300))")
          canvases = self.browser.evaluate(CANVASES)
          self.assertGreaterEqual(len(canvases), 4 if page == "evaluation" else 5)
          self.assertEqual([], [c for c in canvases if c["colors"] < 4 or c["width"] < 200])
          self.assertEqual([], self.browser.problems())
          # The page itself never scrolls sideways; wide tables do so within their panel.
          overflow = "document.documentElement.scrollWidth - window.innerWidth"
          self.assertLessEqual(self.browser.evaluate(overflow), 0)

  def test_the_table_of_kernels_fits_a_screen(self):
    for page in ["replay", "hardware", "estimate"]:
      self.open(page, 1280)
      table, screen = self.browser.evaluate(
          "(box => [box.scrollWidth, box.clientWidth])(document.querySelector('.scroll'))")
      self.assertLessEqual(table, screen, page)

  def test_an_error_would_be_seen(self):
    broken = self.folder / "broken.html"
    text = self.pages["replay"].read_text()
    broken.write_text(text.replace("'use strict';", "'use strict'; undefinedFunction();", 1))
    self.browser.resize(1280)
    self.browser.open(broken)
    self.assertIn("undefinedFunction", " ".join(self.browser.problems()))
    self.assertNotEqual([], [c for c in self.browser.evaluate(CANVASES) if c["colors"] < 4])

  def test_nothing_is_loaded_from_anywhere(self):
    for page in self.pages:
      self.open(page)
      entries = "performance.getEntriesByType('resource').map(e => e.name)"
      self.assertEqual([], [name for name in self.browser.evaluate(entries)
                            if not name.startswith("data:")])

  def test_the_reader_can_change_the_theme(self):
    self.open("replay")
    background = "getComputedStyle(document.body).backgroundColor"
    light = self.browser.evaluate(background)
    self.browser.evaluate("document.getElementById('theme').click()")
    dark = self.browser.evaluate(background)
    self.assertNotEqual(light, dark)
    self.open("replay", dark=True)
    self.assertEqual(dark, self.browser.evaluate(background))
    self.assertEqual([], self.browser.problems())

  def test_estimates_look_different(self):
    colors = {}
    for page in ["hardware", "estimate"]:
      self.open(page)
      colors[page] = self.browser.evaluate(
          "(e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).borderStyle, e.innerText])"
          "(document.querySelector('.source'))")
    self.assertNotEqual(colors["hardware"][0], colors["estimate"][0])
    self.assertNotEqual(colors["hardware"][1], colors["estimate"][1])
    self.assertIn("ESTIMATE", colors["estimate"][2])
    self.assertNotIn("ESTIMATE", colors["hardware"][2])

  def test_candidates_are_filtered_and_sorted(self):
    self.open("hardware")
    self.browser.evaluate("(s => { s.value = 'failed'; s.dispatchEvent(new Event('change')); })"
                          "(document.getElementById('candidate-fate'))")
    column = "[...document.querySelectorAll('#candidates tbody tr')].map(r => r.cells[{}].textContent)"
    document = json.loads((GOLDEN / "reports" / "hardware.json").read_text())
    failed = [c for c in document["candidates"] if "failure" in c.get("result", {})]
    self.assertGreater(len(failed), 2)
    self.assertEqual(["failed"] * len(failed), self.browser.evaluate(column.format(3)))
    self.browser.evaluate("(s => { s.value = 'measured'; s.dispatchEvent(new Event('change')); })"
                          "(document.getElementById('candidate-fate'));"
                          "document.querySelectorAll('#candidates th button')[6].click()")
    times = self.browser.evaluate(column.format(6))
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    seconds = [float(t.split()[0]) * units[t.split()[1]] for t in times]
    self.assertEqual(20, len(seconds))
    self.assertEqual(sorted(seconds), seconds)

  def test_paper(self):
    for page in ["hardware", "comparison"]:
      self.open(page)
      pdf = self.browser.print()
      self.assertTrue(pdf.startswith(b"%PDF"))
      self.assertGreater(len(pdf), 30_000)
      self.assertEqual([], self.browser.problems())

  # ---- The bar: a run with 10,000 candidates

  def test_ten_thousand_candidates_are_small_and_open_at_once(self):
    document = json.loads((GOLDEN / "reports" / "hardware.json").read_text())
    candidates, progress = document["candidates"], document["progress"]
    document["candidates"] = []
    for i in range(10_000):
      candidate = copy.copy(candidates[i % len(candidates)])
      candidate["sequence"] = i
      candidate["measurements"] = i
      document["candidates"].append(candidate)
    document["measurements"] = 10_000
    document["progress"] = [dict(progress[min(i, len(progress) - 1)], measurements=i)
                            for i in range(10_000)]
    path = self.folder / "large.json"
    path.write_text(json.dumps(document))
    self.pages["large"] = self.folder / "large.html"
    self.addCleanup(self.pages.pop, "large")
    self.autotune("report", path, "--html", self.pages["large"])
    self.assertLess(self.pages["large"].stat().st_size, 5_000_000)
    # The shortest of a few: the machine may be busy with something else.
    seconds = min(self.open("large", style="") for _ in range(5))
    print(f"10,000 candidates: {self.pages['large'].stat().st_size / 1e6:.2f} MB, "
          f"opened in {seconds:.2f} s", file=sys.stderr)
    self.assertLess(seconds, 2)
    self.assertIn("of 10,000", self.browser.evaluate(
        "document.getElementById('candidate-position').textContent"))

  # ---- Pictures

  def test_golden_pictures(self):
    shots = [(page, width, dark) for page in ["hardware", "comparison"]
             for width in [1280, 390] for dark in [False, True]] + [
                 ("replay", 1280, False), ("estimate", 1280, False), ("estimate", 390, True)]
    for page, width, dark in shots:
      name = f"{page}-{width}-{'dark' if dark else 'light'}.png"
      with self.subTest(picture=name):
        self.open(page, width, dark)
        # A busy machine may not have painted everything yet.
        for pause in (0, 1, 3):
          time.sleep(pause)
          picture = self.picture()
          difference = self.difference(picture.reduce(2), GOLDEN / "pictures" / name)
          if difference is None:
            break
        if os.environ.get("AUTOTUNE_PICTURES"):
          picture.save(pathlib.Path(os.environ["AUTOTUNE_PICTURES"]) / name)
        self.assertIsNone(difference, "AUTOTUNE_PICTURES=FOLDER shows it")

  def difference(self, picture, path):
    """In which way a picture is not the golden one, or None."""
    if os.environ.get("AUTOTUNE_UPDATE_GOLDEN"):
      picture.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
          path, optimize=True)
      return None
    golden = Image.open(path).convert("RGB")
    if golden.width != picture.width or abs(golden.height - picture.height) > golden.height * 0.01:
      return f"it is {picture.size}, not {golden.size}"
    height = min(golden.height, picture.height)
    share = differing_share(golden.crop((0, 0, golden.width, height)),
                            picture.crop((0, 0, golden.width, height)))
    return None if share < TOLERANCE else f"{share:.1%} of a tile differ"

  def test_a_picture_without_one_chart_differs(self):
    self.open("hardware", 1280)
    before = self.picture().reduce(2)
    self.open("hardware", 1280, style=STYLE + "#chart-1 { visibility: hidden; }")
    self.assertGreater(differing_share(before, self.picture().reduce(2)), TOLERANCE)
    self.open("hardware", 1280)
    self.assertLess(differing_share(before, self.picture().reduce(2)), TOLERANCE / 10)


if __name__ == "__main__":
  unittest.main()
