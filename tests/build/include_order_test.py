#!/usr/bin/env python3
"""Tests that include_order.py finds what it must find and lets pass what it must not find."""

import pathlib
import tempfile
import unittest

import include_order


def violations(files):
  """The violations in a tree that holds `files` (path -> text)."""
  with tempfile.TemporaryDirectory() as directory:
    root = pathlib.Path(directory)
    for path, text in files.items():
      (root / path).parent.mkdir(parents=True, exist_ok=True)
      (root / path).write_text(text, encoding="utf-8")
    return include_order.check_tree(root)[0]


class IncludeOrderTest(unittest.TestCase):

  def assert_allowed(self, path, line):
    self.assertEqual(violations({path: line + "\n"}), [])

  def assert_refused(self, path, line, message):
    found = violations({path: "\n" + line + "\n"})
    self.assertEqual(len(found), 1, found)
    self.assertIn(f"{path}:2: ", found[0])
    self.assertIn(message, found[0])

  def test_down_the_chain_is_allowed(self):
    self.assert_allowed("tuner/a.cc", '#include "search/search_space.h"')
    self.assert_allowed("tuner/a.cc", '#include "hlo/module.h"')
    self.assert_allowed("search/a.cc", '#include "hardware/config.h"')
    self.assert_allowed("hlo/a.cc", '#include "proto/hlo.pb.h"')
    self.assert_allowed("tests/hlo/a_test.cc", '#include "tests/hlo/util.h"')

  def test_up_the_chain_is_refused(self):
    self.assert_refused("hlo/a.cc", '#include "hardware/config.h"', "hlo may not include")
    self.assert_refused("hardware/a.cc", '#include "tuner/tuner.h"', "hardware may not include")
    self.assert_refused("tuner/a.cc", '#include "tests/hlo/util.h"', "tuner may not include")

  def test_search_and_costmodel_never_see_each_other(self):
    self.assert_refused("search/a.cc", '#include "costmodel/cost_model.h"', "search may not")
    self.assert_refused("costmodel/a.cc", '#  include "search/search_space.h"', "costmodel may not")

  def test_libraries_stay_in_their_folders(self):
    self.assert_allowed("search/a.cc", '#include "absl/types/span.h"')
    self.assert_refused("search/a.cc", "#include <tbb/parallel_for.h>", "TBB")
    self.assert_refused("search/a.cc", '#include "proto/hlo.pb.h"', "search may not include")
    self.assert_refused("hlo/a.cc", "#include <soci/soci.h>", "SOCI")
    self.assert_refused("costmodel/a.cc", "#include <CLI/CLI.hpp>", "CLI11")
    self.assert_refused("search/a.cc", "#include <zlib.h>", "zlib")
    self.assert_refused("tuner/a.cc", "#include <gtest/gtest.h>", "GoogleTest")

  def test_libtorch_only_in_the_module(self):
    self.assert_allowed("costmodel/torch_train.cc", "#include <torch/torch.h>")
    self.assert_refused("costmodel/train.cc", "#include <torch/torch.h>", "LibTorch")
    self.assert_refused("tuner/torch_train.cc", "#include <torch/torch.h>", "LibTorch")

  def test_unknown_and_relative_headers_are_refused(self):
    self.assert_refused("hlo/a.cc", "#include <boost/optional.hpp>", "neither ours")
    self.assert_refused("hlo/a.cc", '#include "module.h"', "neither ours")
    self.assert_refused("hlo/a.cc", '#include "../hlo/module.h"', "relative")
    self.assert_refused("hlo/a.cc", "#include <hlo/module.h>", "with quotes")

  def test_system_headers_are_allowed(self):
    self.assert_allowed("hlo/a.cc", "#include <vector>")
    self.assert_allowed("hardware/a.cc", "#include <sys/wait.h>")
    self.assert_allowed("hardware/a.cc", "#include <unistd.h>")

  def test_guard(self):
    good = "#ifndef AUTOTUNE_HLO_A_B_H_\n#define AUTOTUNE_HLO_A_B_H_\n#endif\n"
    self.assertEqual(violations({"hlo/a_b.h": good}), [])
    found = violations({"hlo/a_c.h": good})
    self.assertEqual(len(found), 1)
    self.assertIn("AUTOTUNE_HLO_A_C_H_", found[0])


if __name__ == "__main__":
  unittest.main()
