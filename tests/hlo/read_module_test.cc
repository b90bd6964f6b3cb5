#include "hlo/read_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "hlo/parser.h"
#include "proto/tuning_data.pb.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kText[] =
    "HloModule m\nENTRY e { a = f32[2]{0} parameter(0) ROOT b = f32[2]{0} negate(a) }\n";

proto::HloModuleProto Proto() { return (*ParseHloText(kText))->ToProto(); }

TEST(ReadModuleTest, EveryFormIsToldFromItsContent) {
  proto::HloProto whole;
  *whole.mutable_hlo_module() = Proto();
  proto::HloSnapshot snapshot;
  *snapshot.mutable_hlo() = whole;
  snapshot.set_execution_platform("cpu");
  proto::HloModuleProtoWithConfig with_config;
  *with_config.mutable_hlo_module() = Proto();
  with_config.GetReflection()->MutableUnknownFields(&with_config)->AddLengthDelimited(2, "config");
  const std::pair<std::string, HloFormat> forms[] = {
      {kText, HloFormat::kText},
      {Proto().SerializeAsString(), HloFormat::kModuleProto},
      {whole.SerializeAsString(), HloFormat::kHloProto},
      {snapshot.SerializeAsString(), HloFormat::kSnapshot},
      {with_config.SerializeAsString(), HloFormat::kWithConfig},
      {Proto().DebugString(), HloFormat::kTextProto},
      {whole.DebugString(), HloFormat::kTextProto},
  };
  for (const auto& [content, format] : forms) {
    const auto read = ReadModule(content, "f");
    ASSERT_TRUE(read.ok()) << HloFormatName(format) << " " << read.status();
    EXPECT_EQ(read->format, format) << HloFormatName(format);
    EXPECT_EQ(read->module->entry_computation().root().opcode(), HloOpcode::kNegate);
  }
}

TEST(ReadModuleTest, WritesWhatItReads) {
  const auto module = ParseHloText(kText);
  for (const HloFormat format :
       {HloFormat::kText, HloFormat::kModuleProto, HloFormat::kHloProto, HloFormat::kTextProto}) {
    const auto written = WriteModule(**module, format);
    ASSERT_TRUE(written.ok());
    const auto read = ReadModule(*written, "f");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->module->ToString(), (*module)->ToString());
  }
  EXPECT_FALSE(WriteModule(**module, HloFormat::kSnapshot).ok());
}

TEST(ReadModuleTest, UnknownFieldsSurvive) {
  proto::HloModuleProto module = Proto();
  const auto add = [](google::protobuf::Message* message) {
    message->GetReflection()->MutableUnknownFields(message)->AddVarint(4321, 7);
  };
  add(&module);
  add(module.mutable_computations(0));
  add(module.mutable_computations(0)->mutable_instructions(1));
  add(module.mutable_computations(0)->mutable_instructions(1)->mutable_metadata());
  const auto read = ReadModule(module.SerializeAsString(), "f");
  ASSERT_TRUE(read.ok()) << read.status();
  const proto::HloModuleProto back = read->module->ToProto();
  const auto count = [](const google::protobuf::Message& message) {
    return message.GetReflection()->GetUnknownFields(message).field_count();
  };
  EXPECT_EQ(count(back), 1);
  EXPECT_EQ(count(back.computations(0)), 1);
  EXPECT_EQ(count(back.computations(0).instructions(1)), 1);
  EXPECT_EQ(count(back.computations(0).instructions(1).metadata()), 1);
}

struct BadInput {
  std::string content;
  std::string message;
};

// Newer versions of XLA write backend configurations into a table, equal ones once.
TEST(ReadModuleTest, BackendConfigurationsOfTheTableArePutInPlace) {
  proto::HloModuleProto module = Proto();
  module.add_payloads("unused");
  module.add_payloads(R"({"wait_on_operation_queues":[],"a":1})");
  auto* root = module.mutable_computations(0)->mutable_instructions(1);
  root->mutable_backend_config_payload()->set_id(1);
  auto* parameter = module.mutable_computations(0)->mutable_instructions(0);
  parameter->mutable_backend_config_payload()->set_value("inline");
  const auto read = ReadModule(module.SerializeAsString(), "f");
  ASSERT_TRUE(read.ok()) << read.status();
  const HloComputation& entry = read->module->entry_computation();
  EXPECT_EQ(entry.root().backend_config(), R"({"a":1})");
  EXPECT_EQ(entry.parameters()[0]->backend_config(), "inline");
  const proto::HloModuleProto back = read->module->ToProto();
  EXPECT_EQ(back.computations(0).instructions(1).backend_config(), R"({"a":1})");
  EXPECT_FALSE(back.computations(0).instructions(1).has_backend_config_payload());
  root->mutable_backend_config_payload()->set_id(2);
  EXPECT_THAT(std::string(ReadModule(module.SerializeAsString(), "f").status().message()),
              HasSubstr("instruction b has the backend_config number 2, but the module has 2"));
}

TEST(ReadModuleTest, AnEmptyBackendConfigurationMayStandInTheTable) {
  proto::HloModuleProto module = Proto();
  module.add_payloads("");
  auto* root = module.mutable_computations(0)->mutable_instructions(1);
  root->mutable_backend_config_payload()->set_id(0);
  const auto read = ReadModule(module.SerializeAsString(), "f");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->module->entry_computation().root().backend_config(), "");
}

// What XLA wrote before 2025, and what it makes of it today.
TEST(ReadModuleTest, ProgramsOfOlderVersionsAreUpgraded) {
  const auto module = ParseHloText(
      "HloModule m, is_scheduled=true\n"
      "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
      "ENTRY e { a = f32[2,2] parameter(0) d = f32[2,2] dot(a, a), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0} r = f32[2,2] all-reduce(d), replica_groups={{0,1}}, to_apply=add "
      "ROOT p = pred[2,2] compare(r, a), direction=LT }");
  ASSERT_TRUE(module.ok()) << module.status();
  const proto::HloModuleProto today = (*module)->ToProto();
  proto::HloModuleProto old = today;
  auto* entry = old.mutable_computations(1);
  for (auto& instruction : *entry->mutable_instructions()) {
    // Ids were those of the whole module.
    instruction.set_id(instruction.id() & 0xffffffff);
    for (int64_t& id : *instruction.mutable_operand_ids()) id &= 0xffffffff;
  }
  entry->set_root_id(entry->root_id() & 0xffffffff);
  for (int64_t& id :
       *(*old.mutable_schedule()->mutable_sequences())[entry->id()].mutable_instruction_ids()) {
    id &= 0xffffffff;
  }
  entry->mutable_instructions(1)->clear_precision_config();
  auto* reduce = entry->mutable_instructions(2);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  reduce->mutable_replica_groups()->CopyFrom(reduce->collective_device_list().replica_groups());
#pragma GCC diagnostic pop
  reduce->clear_collective_device_list();
  entry->mutable_instructions(3)->clear_comparison_type();
  auto* result = old.mutable_host_program_shape()->mutable_result();
  result->clear_is_dynamic_dimension();
  result->mutable_layout()->clear_tail_padding_alignment_in_elements();
  const auto read = ReadModule(old.SerializeAsString(), "f");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->module->ToProto().DebugString(), today.DebugString());
}

TEST(ReadModuleTest, ShapesThatContradictThemselvesAreRefused) {
  const auto error_of = [](const std::function<void(proto::HloInstructionProto*)>& edit) {
    proto::HloModuleProto module = Proto();
    edit(module.mutable_computations(0)->mutable_instructions(0));
    return std::string(ReadModule(module.SerializeAsString(), "f").status().message());
  };
  EXPECT_THAT(error_of([](auto* i) { i->mutable_shape()->add_is_dynamic_dimension(false); }),
              HasSubstr("a shape has 1 dimensions, but says of 2 whether they are dynamic"));
  EXPECT_THAT(error_of([](auto* i) { i->mutable_shape()->clear_element_type(); }),
              HasSubstr("a shape has a layout, but no element type"));
  EXPECT_THAT(error_of([](auto* i) {
                i->mutable_shape()->mutable_layout()->set_tail_padding_alignment_in_elements(-1);
              }),
              HasSubstr("tail padding of a layout must not be negative"));
  EXPECT_THAT(error_of([](auto* i) { i->clear_name(); }), HasSubstr("has no name"));
}

TEST(ReadModuleTest, BadInputSaysWhatIsWrong) {
  proto::TuningData recording;
  *recording.add_modules()->mutable_module() = Proto();
  recording.mutable_modules(0)->set_fingerprint(3);
  const std::string binary = Proto().SerializeAsString();
  const BadInput inputs[] = {
      {"", "f: the file is empty"},
      {" \n\t", "nothing but white space"},
      {"Once upon a time", "looks like neither HLO text nor a protobuf"},
      {"module @jit_f {\n}", "StableHLO"},
      {"#loc = loc(unknown)\nmodule {", "jax.jit(f).lower(*args).as_text(\"hlo\")"},
      {recording.SerializeAsString(), "recording (TuningData)"},
      {binary.substr(0, binary.size() - 4),
       "f: read as HloModuleProto, the content cannot be decoded"},
      {std::string("\x00\x01\x02\x03", 4), "looks like neither HLO text nor a protobuf"},
      {"hlo_module { name: 3 }", "f:"},
      {"HloModule m\nENTRY e { a = f32[] foo() }", "f:2:21: unknown opcode \"foo\""},
  };
  for (const BadInput& input : inputs) {
    const auto read = ReadModule(input.content, "f");
    ASSERT_FALSE(read.ok()) << input.message;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(input.message));
  }
}

TEST(ReadModuleTest, BrokenReferencesNameTheInstruction) {
  const auto error = [](void (*edit)(proto::HloComputationProto*)) {
    proto::HloModuleProto module = Proto();
    edit(module.mutable_computations(0));
    return std::string(HloModule::FromProto(module).status().message());
  };
  EXPECT_THAT(error([](auto* c) { c->mutable_instructions(1)->set_operand_ids(0, 99); }),
              HasSubstr("instruction b uses the id 99"));
  EXPECT_THAT(error([](auto* c) { c->set_root_id(99); }),
              HasSubstr("no instruction with the root's id"));
  EXPECT_THAT(error([](auto* c) { c->set_id(99); }),
              HasSubstr("no computation with the entry's id"));
  EXPECT_THAT(error([](auto* c) { c->mutable_instructions(1)->set_id(0); }),
              HasSubstr("has the id of another"));
  EXPECT_THAT(error([](auto* c) { c->mutable_instructions(1)->set_opcode("x"); }),
              HasSubstr("unknown opcode \"x\""));
  EXPECT_THAT(error([](auto* c) { c->mutable_instructions(0)->set_parameter_number(5); }),
              HasSubstr("is number 5"));
  EXPECT_THAT(error([](auto* c) { c->mutable_instructions(1)->add_called_computation_ids(7); }),
              HasSubstr("calls the computation with the id 7"));
  EXPECT_THAT(error([](auto* c) { c->mutable_instructions(0)->add_operand_ids(1); }),
              HasSubstr("which no instruction before it has"));
}

// Found by the fuzzer: printing read the data of a literal that had none.
TEST(ReadModuleTest, LiteralOfATokenIsRefused) {
  proto::HloModuleProto module = Proto();
  proto::HloInstructionProto* constant = module.mutable_computations(0)->add_instructions();
  constant->set_name("c");
  constant->set_id(9);
  constant->set_opcode("constant");
  constant->mutable_shape()->set_element_type(proto::TOKEN);
  constant->mutable_literal()->mutable_shape()->set_element_type(proto::TOKEN);
  EXPECT_THAT(std::string(HloModule::FromProto(module).status().message()),
              HasSubstr("instruction c: there are no values of token[]"));
}

class DirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/autotune_read_module";
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_ + "/sub");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void Write(const std::string& name, const std::string& content) {
    std::ofstream(directory_ + "/" + name, std::ios::binary) << content;
  }
  std::string directory_;
};

TEST_F(DirectoryTest, FindsTheModulesOfADump) {
  Write("module_0001.f.before_optimizations.txt", kText);
  Write("module_0001.f.after_optimizations-buffer-assignment.txt",
        "BufferAssignment:\nallocation 0");
  Write("sub/module_0002.pb", Proto().SerializeAsString());
  Write("empty.hlo", "");
  const auto files = FindModuleFiles(directory_);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(directory_ + "/module_0001.f.before_optimizations.txt",
                                  directory_ + "/sub/module_0002.pb"));
  const auto matches = FindModuleFiles(directory_ + "/*.hlo");
  ASSERT_TRUE(matches.ok());
  EXPECT_THAT(*matches, ElementsAre(directory_ + "/empty.hlo"));
  EXPECT_EQ(FindModuleFiles(directory_ + "/none*").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FindModuleFiles(directory_ + "/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadModuleFile(directory_ + "/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadModuleFile(directory_).status().code(), absl::StatusCode::kInvalidArgument);
  std::filesystem::remove_all(directory_ + "/sub");
  std::filesystem::remove(directory_ + "/module_0001.f.before_optimizations.txt");
  EXPECT_THAT(std::string(FindModuleFiles(directory_).status().message()),
              HasSubstr("no file in this directory holds a program"));
}

TEST(SharedProgramsTest, AllReadAndRoundTrip) {
  if (std::string(AUTOTUNE_SHARED_DIR).empty()) GTEST_SKIP() << "no shared data";
  const auto files = FindModuleFiles(absl::StrCat(AUTOTUNE_SHARED_DIR, "/data/programs"));
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_GE(files->size(), 57u);
  for (const std::string& file : *files) {
    const auto read = ReadModuleFile(file);
    ASSERT_TRUE(read.ok()) << read.status();
    const std::string printed = read->module->ToString();
    const auto again = ParseHloText(printed);
    ASSERT_TRUE(again.ok()) << file << again.status();
    EXPECT_EQ((*again)->ToString(), printed) << file;
  }
}

}  // namespace
}  // namespace autotune
