#include "hlo/proto_bytes.h"

#include <sys/mman.h>

#include <string>

#include "gtest/gtest.h"
#include "proto/hlo.pb.h"

namespace autotune {
namespace {

TEST(ProtoBytesTest, DecodesOrSaysThatItCannot) {
  proto::HloModuleProto module;
  module.set_name("m");
  proto::HloModuleProto read;
  EXPECT_TRUE(ParseProtoBytes(module.SerializeAsString(), &read).ok());
  EXPECT_EQ(read.name(), "m");
  EXPECT_EQ(ParseProtoBytes("\x0a\x7f", &read).message(), "cannot be decoded");
}

// Protobuf counts bytes in an int: a size beyond it used to become a negative or a small one.
TEST(ProtoBytesTest, MoreThanTwoGibibytesAreAnErrorThatSaysSo) {
  for (const size_t size : {(size_t{2} << 30), (size_t{4} << 30) + 5}) {
    // Reserved addresses: nothing is read, so nothing takes memory.
    void* memory =
        mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    proto::HloModuleProto read;
    const absl::Status status =
        ParseProtoBytes(absl::string_view(static_cast<const char*>(memory), size), &read);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(
        std::string(status.message()),
        "has " + std::to_string(size) + " bytes, more than the 2 GiB that a protobuf can have");
    munmap(memory, size);
  }
}

}  // namespace
}  // namespace autotune
