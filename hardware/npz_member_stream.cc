#include <zlib.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hardware/npz_archive.h"

namespace autotune {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint64_t kLocalHeaderBytes = 30;
constexpr uint64_t kInputBytes = 256 * 1024;

// Takes the compressed bytes of a member in parts, inflates them and sums the checksum up.
class ZlibMemberStream : public NpzMemberStream {
 public:
  ZlibMemberStream(std::shared_ptr<const NpzSource> source, NpzMember member)
      : source_(std::move(source)), member_(std::move(member)), left_(member_.bytes) {}
  ~ZlibMemberStream() override {
    if (inflating_) inflateEnd(&stream_);
  }
  ZlibMemberStream(const ZlibMemberStream&) = delete;
  ZlibMemberStream& operator=(const ZlibMemberStream&) = delete;

  absl::Status Start() {
    const auto header = source_->ReadAt(member_.header_offset, kLocalHeaderBytes);
    if (!header.ok()) return header.status();
    const auto byte = [&](size_t i) { return static_cast<uint64_t>((*header)[i] & 0xff); };
    if ((byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24) != kLocalSignature) {
      return Error("its header is damaged");
    }
    next_ = member_.header_offset + kLocalHeaderBytes + (byte(26) | byte(27) << 8) +
            (byte(28) | byte(29) << 8);
    compressed_left_ = member_.compressed_bytes;
    if (!member_.deflated) return absl::OkStatus();
    // Negative window bits: deflate without zlib's own header.
    inflating_ = inflateInit2(&stream_, -MAX_WBITS) == Z_OK;
    return inflating_ ? absl::OkStatus() : absl::ResourceExhaustedError("zlib lacks memory");
  }

  absl::StatusOr<std::string> Read(uint64_t count) override {
    if (count > left_) return Error("the array is cut");
    absl::StatusOr<std::string> bytes = member_.deflated ? Inflate(count) : TakeInput(count);
    if (!bytes.ok()) return bytes.status();
    crc_ = static_cast<uint32_t>(
        crc32_z(crc_, reinterpret_cast<const Bytef*>(bytes->data()), bytes->size()));
    left_ -= count;
    if (left_ == 0 && crc_ != member_.crc) return Error("its checksum is wrong");
    return bytes;
  }

  uint64_t remaining() const override { return left_; }

  absl::Status Error(absl::string_view what) const override {
    return source_->Error(absl::StrCat("member ", member_.name.substr(0, 80), ": ", what));
  }

 private:
  absl::StatusOr<std::string> TakeInput(uint64_t count) {
    if (count > compressed_left_) return Error("the compressed bytes are cut");
    absl::StatusOr<std::string> bytes = source_->ReadAt(next_, count);
    next_ += count;
    compressed_left_ -= count;
    return bytes;
  }

  absl::StatusOr<std::string> Inflate(uint64_t count) {
    std::string bytes(count, '\0');
    uint64_t done = 0;
    while (done < count) {
      if (stream_.avail_in == 0 && compressed_left_ > 0) {
        absl::StatusOr<std::string> input = TakeInput(std::min(kInputBytes, compressed_left_));
        if (!input.ok()) return input.status();
        input_ = *std::move(input);
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(input_.size());
      }
      const uint64_t wanted = std::min<uint64_t>(count - done, uint64_t{1} << 30);
      stream_.next_out = reinterpret_cast<Bytef*>(bytes.data() + done);
      stream_.avail_out = static_cast<uInt>(wanted);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      const uint64_t got = wanted - stream_.avail_out;
      done += got;
      const bool ended = result == Z_STREAM_END && done < count;
      if (ended || (result != Z_OK && result != Z_STREAM_END)) {
        return Error("the compressed bytes are damaged");
      }
    }
    return bytes;
  }

  std::shared_ptr<const NpzSource> source_;
  NpzMember member_;
  uint64_t left_;                 // of the content
  uint64_t next_ = 0;             // offset of the next compressed byte to read
  uint64_t compressed_left_ = 0;  // not read yet
  uint32_t crc_ = 0;
  bool inflating_ = false;
  z_stream stream_ = {};
  std::string input_;  // what stream_ reads from
};

}  // namespace

absl::StatusOr<std::unique_ptr<NpzMemberStream>> NpzMemberStream::Open(
    std::shared_ptr<const NpzSource> source, NpzMember member) {
  auto stream = std::make_unique<ZlibMemberStream>(std::move(source), std::move(member));
  if (absl::Status status = stream->Start(); !status.ok()) return status;
  return std::unique_ptr<NpzMemberStream>(std::move(stream));
}

}  // namespace autotune
