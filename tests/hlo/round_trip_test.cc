// What must be the same after reading and writing: fields that this schema does not know, and what
// stands beside a module.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hlo/parser.h"
#include "hlo/read_module.h"
#include "hlo/unknown_fields.h"

namespace autotune {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kUnknownField = 123456;

// As many kinds of messages as one module can hold.
constexpr char kText[] =
    R"(HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, must-alias) }, buffer_donor={ (1, {}) }, entry_computation_layout={(f32[8,128]{1,0:T(8,128)SC(0:4)}, f32[1,4,4]{2,1,0})->(f32[8,128]{1,0:T(8,128)}, f32[1,4,4]{2,1,0})}, frontend_attributes={k="v"}, origin_recovery_table={{"a"} : {"b" {0}}}

FileNames
1 "a.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=4 column=5 end_column=6}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}

ENTRY %e (p: f32[8,128], q: f32[1,4,4]) -> (f32[8,128], f32[1,4,4]) {
  %p = f32[8,128]{1,0:T(8,128)SC(0:4)} parameter(0), sharding={devices=[2,1]0,1 metadata={op_name="s"}}, metadata={op_name="n" stack_frame_id=1}
  %q = f32[1,4,4]{2,1,0} parameter(1), sharding={mesh["x"=4], [{"x":(1)2}, {}, {}]}
  %c = (f32[2]{0}, s32[]) constant(({1, 2}, 3))
  %w = f32[1,4,4]{2,1,0} convolution(%q, %q), window={size=1}, dim_labels=b0f_i0o->b0f
  %r = f32[8,128]{1,0:T(8,128)} all-reduce(%p), replica_groups={{0,1}}, to_apply=%add, frontend_attributes={a="1"}, statistics={visualizing_index=0,t=1}
  ROOT %t = (f32[8,128]{1,0:T(8,128)}, f32[1,4,4]{2,1,0}) tuple(%r, %w), origin={({"r"}, {"w"})}
}
)";

proto::HloModuleProto RichModule() {
  const auto module = ParseHloText(kText);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? (*module)->ToProto() : proto::HloModuleProto();
}

// Gives the message and every message within it an unknown field; returns how many.
int64_t Plant(Message* message, bool map_entry = false) {
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  int64_t planted = 0;
  // Entries of maps are no messages of their own.
  if (!map_entry) {
    reflection.MutableUnknownFields(message)->AddVarint(kUnknownField, 7);
    ++planted;
  }
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      planted += Plant(reflection.MutableMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
      planted += Plant(reflection.MutableRepeatedMessage(message, field, i), field->is_map());
    }
  }
  return planted;
}

// Regression: those of shapes, layouts, signatures and stack frames were lost.
TEST(RoundTripTest, UnknownFieldsOfEveryMessageSurvive) {
  proto::HloModuleProto module = RichModule();
  const int64_t planted = Plant(&module);
  EXPECT_GT(planted, 100);
  const std::string bytes = module.SerializeAsString();
  const auto read = ReadModule(bytes, "f");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(CountUnknownFields(read->module->ToProto(), true), planted);
  const auto written = WriteModule(*read->module, HloFormat::kModuleProto);
  ASSERT_TRUE(written.ok());
  proto::HloModuleProto back;
  ASSERT_TRUE(back.ParseFromString(*written));
  EXPECT_EQ(back.DebugString(), module.DebugString());
}

// Shapes of older versions are completed; what is unknown in them stays.
TEST(RoundTripTest, UnknownFieldsOfUpgradedShapesSurvive) {
  proto::HloModuleProto module = RichModule();
  for (auto& instruction : *module.mutable_computations(0)->mutable_instructions()) {
    instruction.mutable_shape()->mutable_layout()->clear_tail_padding_alignment_in_elements();
    Plant(instruction.mutable_shape());
  }
  Plant(module.mutable_host_program_shape());
  const int64_t planted = CountUnknownFields(module, true);
  const auto read = ReadModule(module.SerializeAsString(), "f");
  ASSERT_TRUE(read.ok()) << read.status();
  // The root's shape and those of the parameters are in the signature too.
  EXPECT_EQ(CountUnknownFields(read->module->ToProto(), true), planted + 3 * 2);
}

TEST(RoundTripTest, PayloadsOfANewerKindStay) {
  proto::HloModuleProto module = RichModule();
  proto::HloInstructionProto* root = module.mutable_computations(1)->mutable_instructions(0);
  root->set_backend_config("{\"a\":1}");
  Plant(root->mutable_backend_config_payload());
  const auto read = ReadModule(module.SerializeAsString(), "f");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->module->ToProto().DebugString(), module.DebugString());
}

// Protobuf does not read what it prints of an unknown field.
TEST(RoundTripTest, ProtobufTextReadsBackWithoutUnknownFields) {
  proto::HloModuleProto module = RichModule();
  const std::string known = module.DebugString();
  Plant(&module);
  const auto read = ReadModule(module.SerializeAsString(), "f");
  ASSERT_TRUE(read.ok()) << read.status();
  const auto written = WriteModule(*read->module, HloFormat::kTextProto);
  ASSERT_TRUE(written.ok());
  const auto again = ReadModule(*written, "f");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->module->ToProto().DebugString(), known);
}

proto::HloProto WholeProto() {
  proto::HloProto whole;
  *whole.mutable_hlo_module() = RichModule();
  proto::LogicalBufferProto* buffer = whole.mutable_buffer_assignment()->add_logical_buffers();
  buffer->set_size(4096);
  buffer->mutable_defined_at()->set_instruction_id(
      whole.hlo_module().computations(1).instructions(0).id());
  Plant(whole.mutable_buffer_assignment());
  whole.GetReflection()->MutableUnknownFields(&whole)->AddLengthDelimited(9, "new");
  return whole;
}

TEST(RoundTripTest, HloProtosKeepWhatIsBesideTheModule) {
  const proto::HloProto whole = WholeProto();
  const auto read = ReadModule(whole.SerializeAsString(), "f", {.keep_beside = true});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->format, HloFormat::kHloProto);
  EXPECT_THAT(read->beside.hlo_proto_fields, ElementsAre("buffer_assignment", "field 9"));
  EXPECT_THAT(read->beside.other_fields, IsEmpty());
  const auto written = WriteModule(*read->module, HloFormat::kHloProto, read->beside);
  ASSERT_TRUE(written.ok());
  proto::HloProto back;
  ASSERT_TRUE(back.ParseFromString(*written));
  EXPECT_EQ(back.DebugString(), whole.DebugString());
}

// Reading gives instructions of older versions the ids of today.
TEST(RoundTripTest, BufferAssignmentsFollowChangedIds) {
  const proto::HloProto whole = WholeProto();
  proto::HloProto old = whole;
  const auto lower = [](int64_t id) { return (id & 0xff) + 10 * (id >> 32); };
  for (auto& computation : *old.mutable_hlo_module()->mutable_computations()) {
    for (auto& instruction : *computation.mutable_instructions()) {
      instruction.set_id(lower(instruction.id()));
      for (int64_t& id : *instruction.mutable_operand_ids()) id = lower(id);
    }
    computation.set_root_id(lower(computation.root_id()));
  }
  old.mutable_hlo_module()->clear_schedule();
  auto* place = old.mutable_buffer_assignment()->mutable_logical_buffers(0)->mutable_defined_at();
  place->set_instruction_id(lower(place->instruction_id()));
  const auto read = ReadModule(old.SerializeAsString(), "f", {.keep_beside = true});
  ASSERT_TRUE(read.ok()) << read.status();
  proto::HloProto back;
  ASSERT_TRUE(
      back.ParseFromString(*WriteModule(*read->module, HloFormat::kHloProto, read->beside)));
  EXPECT_EQ(back.buffer_assignment().logical_buffers(0).defined_at().instruction_id(),
            back.hlo_module().computations(1).instructions(0).id());
  EXPECT_EQ(back.hlo_module().computations(1).instructions(0).id(),
            whole.hlo_module().computations(1).instructions(0).id() + 10);
}

TEST(RoundTripTest, SnapshotsOfEveryForm) {
  proto::HloSnapshot snapshot;
  *snapshot.mutable_hlo()->mutable_hlo_module() = RichModule();
  const std::string bare = snapshot.SerializeAsString();
  proto::LiteralProto* argument = snapshot.add_arguments();
  argument->mutable_shape()->set_element_type(proto::F32);
  argument->add_f32s(1);
  const std::string with_argument = snapshot.SerializeAsString();
  snapshot.set_execution_platform("cpu");
  *snapshot.mutable_result() = *argument;
  snapshot.mutable_hlo()->mutable_buffer_assignment();
  const std::string full = snapshot.SerializeAsString();
  proto::HloSnapshot arguments_first = snapshot;
  arguments_first.clear_hlo();
  for (const auto& [content, format] : std::vector<std::pair<std::string, HloFormat>>{
           {bare, HloFormat::kSnapshot},
           {with_argument, HloFormat::kSnapshot},
           {full, HloFormat::kSnapshot},
           {snapshot.DebugString(), HloFormat::kTextProto},
           {arguments_first.DebugString() + "hlo: { " + snapshot.hlo().DebugString() + " }",
            HloFormat::kTextProto},
           {"# proto-file: hlo.proto\n# proto-message: HloSnapshot\n\n" + snapshot.DebugString(),
            HloFormat::kTextProto}}) {
    const auto read = ReadModule(content, "f", {.keep_beside = true});
    ASSERT_TRUE(read.ok()) << read.status() << content.substr(0, 100);
    EXPECT_EQ(read->format, format);
    EXPECT_EQ(read->module->name(), "m");
    if (content == bare) continue;
    EXPECT_THAT(read->beside.other_fields, ::testing::Contains("arguments"));
  }
  const auto read = ReadModule(full, "f", {.keep_beside = true});
  EXPECT_THAT(read->beside.hlo_proto_fields, ElementsAre("buffer_assignment"));
  EXPECT_THAT(read->beside.other_fields, ElementsAre("arguments", "result", "execution_platform"));
}

TEST(RoundTripTest, TheConfigurationOfAPluginIsNamed) {
  proto::HloModuleProtoWithConfig with_config;
  *with_config.mutable_hlo_module() = RichModule();
  with_config.GetReflection()->MutableUnknownFields(&with_config)->AddLengthDelimited(2, "config");
  const auto read = ReadModule(with_config.SerializeAsString(), "f", {.keep_beside = true});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->format, HloFormat::kWithConfig);
  EXPECT_THAT(read->beside.other_fields, ElementsAre("field 2"));
}

// Words that protobuf text begins with can be names of computations too.
TEST(RoundTripTest, ComputationsWithNamesOfFieldsAreText) {
  for (const std::string name : {"result", "schedule", "computations", "hlo"}) {
    const auto read =
        ReadModule(name + " { a = f32[] parameter(0) ROOT b = f32[] negate(a) }", "f");
    ASSERT_TRUE(read.ok()) << name << read.status();
    EXPECT_EQ(read->format, HloFormat::kText);
    EXPECT_TRUE(ReadModule(name + " { ROOT a = f32[] parameter(0) }", "f").ok()) << name;
  }
}

TEST(RoundTripTest, BadProtobufTextNamesEveryReading) {
  EXPECT_THAT(std::string(ReadModule("hlo { hlo_module { name: 3 } }", "f").status().message()),
              HasSubstr("as a text HloSnapshot: 1:26: Expected string"));
}

}  // namespace
}  // namespace autotune
