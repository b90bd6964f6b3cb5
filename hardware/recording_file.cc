// The project's own file form of a recording (proto/recording.proto) and gzip around it.

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hardware/recording_forms.h"
#include "hlo/fingerprint.h"
#include "hlo/proto_bytes.h"

namespace autotune {
namespace {

using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::GzipInputStream;
using google::protobuf::io::GzipOutputStream;
using google::protobuf::io::StringOutputStream;

constexpr absl::string_view kMagic = "autotune-recording\n";
constexpr uint32_t kFormatVersion = 1;
constexpr size_t kFrameHeaderBytes = 12;  // length and checksum

uint64_t Checksum(absl::string_view bytes) { return Fingerprinter().AddText(bytes).Get(); }

void AppendLittleEndian(uint64_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

uint64_t ReadLittleEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

absl::Status AppendFrame(const google::protobuf::Message& message, std::string* out) {
  const std::string bytes = SerializeDeterministically(message);
  if (bytes.size() > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError("recording: a kernel of more than 2 GiB");
  }
  AppendLittleEndian(bytes.size(), 4, out);
  AppendLittleEndian(Checksum(bytes), 8, out);
  out->append(bytes);
  return absl::OkStatus();
}

// Hands out frame after frame; errors lack the file's name.
class RecordFrames {
 public:
  explicit RecordFrames(absl::string_view bytes) : bytes_(bytes) { position_ = kMagic.size(); }

  bool AtEnd() const { return position_ == bytes_.size(); }

  absl::StatusOr<absl::string_view> Next(absl::string_view what) {
    const absl::string_view rest = bytes_.substr(position_);
    const auto fail = [&](absl::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat(what, " at byte ", position_, " ", why));
    };
    if (rest.size() < kFrameHeaderBytes) return fail("is cut off");
    const size_t length = ReadLittleEndian(rest.substr(0, 4));
    if (length > rest.size() - kFrameHeaderBytes) {
      return fail(absl::StrCat("is cut off: it should have ", length, " bytes, of which ",
                               rest.size() - kFrameHeaderBytes, " are there"));
    }
    const absl::string_view frame = rest.substr(kFrameHeaderBytes, length);
    if (ReadLittleEndian(rest.substr(4, 8)) != Checksum(frame)) {
      return fail("is damaged: its checksum is wrong");
    }
    position_ += kFrameHeaderBytes + length;
    return frame;
  }

 private:
  absl::string_view bytes_;
  size_t position_;
};

absl::StatusOr<RecordingOrigin> OriginFromHeader(const proto::RecordingHeader& header) {
  if (header.format_version() != kFormatVersion) {
    return absl::InvalidArgumentError(absl::StrCat("format version ", header.format_version(),
                                                   "; this program knows version ",
                                                   kFormatVersion));
  }
  const std::optional<TimeSource> source = TimeSourceFromName(header.source());
  if (!source.has_value() || header.device().empty()) {
    return absl::InvalidArgumentError("the header lacks the device or the source of times");
  }
  return RecordingOrigin{header.device(), header.backend(), header.versions(), *source};
}

absl::Status AddKernel(const proto::RecordedKernelRecord& record, Recording* recording) {
  absl::StatusOr<Kernel> kernel = KernelFromProto(record.kernel());
  if (!kernel.ok()) return kernel.status();
  if (recording->Find(kernel->fingerprint) != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(kernel->name, " occurs twice"));
  }
  RecordedKernel& target = recording->FindOrAdd(*kernel);
  target.set_layout_node_ids({record.layout_node_ids().begin(), record.layout_node_ids().end()});
  for (const proto::ConfigRecord& config : record.configs()) {
    absl::StatusOr<RecordedConfig> recorded = RecordedConfigFromProto(config);
    if (!recorded.ok()) return recorded.status();
    target.Add(*std::move(recorded));
  }
  return absl::OkStatus();
}

absl::StatusOr<Recording> ReadFrames(RecordFrames frames) {
  const absl::StatusOr<absl::string_view> first = frames.Next("the header");
  if (!first.ok()) return first.status();
  proto::RecordingHeader header;
  if (absl::Status status = ParseProtoBytes(*first, &header); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the header ", status.message()));
  }
  absl::StatusOr<RecordingOrigin> origin = OriginFromHeader(header);
  if (!origin.ok()) return origin.status();
  Recording recording(*std::move(origin));
  for (uint64_t i = 0; i < header.kernels(); ++i) {
    const std::string what = absl::StrCat("kernel record ", i);
    const absl::StatusOr<absl::string_view> frame = frames.Next(what);
    if (!frame.ok()) return frame.status();
    proto::RecordedKernelRecord record;
    if (absl::Status status = ParseProtoBytes(*frame, &record); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(what, " ", status.message()));
    }
    if (absl::Status status = AddKernel(record, &recording); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(what, ": ", status.message()));
    }
  }
  if (!frames.AtEnd()) return absl::InvalidArgumentError("data after the last kernel record");
  return recording;
}

}  // namespace

std::string SerializeDeterministically(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    StringOutputStream stream(&bytes);
    CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializePartialToCodedStream(&coded);
  }
  return bytes;
}

bool IsGzip(absl::string_view bytes) { return absl::StartsWith(bytes, "\x1f\x8b"); }

absl::StatusOr<std::string> Gunzip(absl::string_view bytes, const std::string& name) {
  if (bytes.size() > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": more than 2 GiB compressed"));
  }
  // Small blocks, so that the error below can say how far the data was good.
  constexpr int kBlockBytes = 4096;
  ArrayInputStream compressed(bytes.data(), static_cast<int>(bytes.size()), kBlockBytes);
  GzipInputStream stream(&compressed, GzipInputStream::GZIP);
  std::string content;
  const void* data = nullptr;
  int size = 0;
  while (stream.Next(&data, &size)) {
    if (content.size() + static_cast<size_t>(size) > kMaxUncompressedBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": more than ", kMaxUncompressedBytes >> 30, " GiB uncompressed"));
    }
    content.append(static_cast<const char*>(data), static_cast<size_t>(size));
  }
  // The stream also ends well where the input does; only the length at the very end of the file
  // tells that nothing is missing. (So this reads files of one gzip member, as Gzip writes them.)
  constexpr int kStreamEnd = 1;  // zlib's Z_STREAM_END
  constexpr size_t kLengthBytes = 4;
  const bool whole =
      stream.ZlibErrorCode() == kStreamEnd && bytes.size() > kLengthBytes &&
      ReadLittleEndian(bytes.substr(bytes.size() - kLengthBytes)) == (content.size() & 0xffffffffu);
  if (whole) return content;
  const char* reason = stream.ZlibErrorMessage();
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": the compressed data is damaged or cut near byte ", compressed.ByteCount(), " of ",
      bytes.size(), reason == nullptr ? "" : ": ", reason == nullptr ? "" : reason));
}

std::string Gzip(absl::string_view bytes) {
  std::string compressed;
  {
    StringOutputStream output(&compressed);
    GzipOutputStream::Options options;
    options.format = GzipOutputStream::GZIP;
    options.compression_level = 6;
    GzipOutputStream stream(&output, options);
    void* buffer = nullptr;
    int size = 0;
    while (!bytes.empty() && stream.Next(&buffer, &size)) {
      const size_t count = std::min(bytes.size(), static_cast<size_t>(size));
      std::memcpy(buffer, bytes.data(), count);
      bytes.remove_prefix(count);
      if (count < static_cast<size_t>(size)) stream.BackUp(size - static_cast<int>(count));
    }
    stream.Close();
  }
  return compressed;
}

bool IsOwnForm(absl::string_view bytes) { return absl::StartsWith(bytes, kMagic); }

absl::StatusOr<Recording> ReadOwnForm(absl::string_view bytes, const std::string& name) {
  absl::StatusOr<Recording> recording = ReadFrames(RecordFrames(bytes));
  if (recording.ok()) return recording;
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", recording.status().message()));
}

absl::StatusOr<std::string> WriteOwnForm(const Recording& recording) {
  std::string bytes(kMagic);
  proto::RecordingHeader header;
  header.set_format_version(kFormatVersion);
  header.set_device(recording.origin().device);
  header.set_backend(recording.origin().backend);
  header.set_versions(recording.origin().versions);
  header.set_source(std::string(TimeSourceName(recording.origin().source)));
  header.set_kernels(recording.kernels().size());
  if (absl::Status status = AppendFrame(header, &bytes); !status.ok()) return status;
  for (const RecordedKernel& kernel : recording.kernels()) {
    proto::RecordedKernelRecord record;
    KernelToProto(kernel.kernel(), record.mutable_kernel());
    for (const RecordedConfig& config : kernel.configs()) {
      RecordedConfigToProto(config, record.add_configs());
    }
    const std::vector<int64_t>& nodes = kernel.layout_node_ids();
    record.mutable_layout_node_ids()->Add(nodes.begin(), nodes.end());
    if (absl::Status status = AppendFrame(record, &bytes); !status.ok()) return status;
  }
  return bytes;
}

}  // namespace autotune
