#include "hardware/pjrt_client.h"

#include "absl/strings/str_cat.h"

#ifdef AUTOTUNE_HAS_PJRT
#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/pjrt_api.h"
#include "proto/hlo.pb.h"
#endif

namespace autotune {

#ifdef AUTOTUNE_HAS_PJRT

namespace {

// The types that the C API has, and ours.
constexpr std::pair<ElementType, PJRT_Buffer_Type> kTypes[] = {
    {proto::PRED, PJRT_Buffer_Type_PRED},
    {proto::S8, PJRT_Buffer_Type_S8},
    {proto::S16, PJRT_Buffer_Type_S16},
    {proto::S32, PJRT_Buffer_Type_S32},
    {proto::S64, PJRT_Buffer_Type_S64},
    {proto::U8, PJRT_Buffer_Type_U8},
    {proto::U16, PJRT_Buffer_Type_U16},
    {proto::U32, PJRT_Buffer_Type_U32},
    {proto::U64, PJRT_Buffer_Type_U64},
    {proto::F16, PJRT_Buffer_Type_F16},
    {proto::F32, PJRT_Buffer_Type_F32},
    {proto::F64, PJRT_Buffer_Type_F64},
    {proto::BF16, PJRT_Buffer_Type_BF16},
    {proto::C64, PJRT_Buffer_Type_C64},
    {proto::C128, PJRT_Buffer_Type_C128},
    {proto::F8E5M2, PJRT_Buffer_Type_F8E5M2},
    {proto::F8E4M3FN, PJRT_Buffer_Type_F8E4M3FN},
    {proto::F8E4M3B11FNUZ, PJRT_Buffer_Type_F8E4M3B11FNUZ},
    {proto::F8E5M2FNUZ, PJRT_Buffer_Type_F8E5M2FNUZ},
    {proto::F8E4M3FNUZ, PJRT_Buffer_Type_F8E4M3FNUZ},
    {proto::S4, PJRT_Buffer_Type_S4},
    {proto::U4, PJRT_Buffer_Type_U4},
    {proto::S2, PJRT_Buffer_Type_S2},
    {proto::U2, PJRT_Buffer_Type_U2},
    {proto::F8E4M3, PJRT_Buffer_Type_F8E4M3},
    {proto::F8E3M4, PJRT_Buffer_Type_F8E3M4},
    {proto::F8E8M0FNU, PJRT_Buffer_Type_F8E8M0FNU},
    {proto::F4E2M1FN, PJRT_Buffer_Type_F4E2M1FN}};

absl::StatusOr<PJRT_Buffer_Type> ToBufferType(ElementType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == type) return theirs;
  }
  return absl::UnimplementedError(
      absl::StrCat("the PJRT API has no arrays of ", ElementTypeName(type)));
}

absl::StatusOr<ElementType> FromBufferType(PJRT_Buffer_Type type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  return absl::UnimplementedError(absl::StrCat("an array of the PJRT type ", type));
}

// Waits for an event, frees it and returns its status. OK for null.
absl::Status TakeEvent(const PJRT_Api& api, PJRT_Event* event) {
  if (event == nullptr) return absl::OkStatus();
  AUTOTUNE_PJRT_ARGS(PJRT_Event_Await_Args, await);
  await.event = event;
  absl::Status status = AUTOTUNE_PJRT_CALL(api, PJRT_Event_Await, await);
  AUTOTUNE_PJRT_ARGS(PJRT_Event_Destroy_Args, destroy);
  destroy.event = event;
  status.Update(AUTOTUNE_PJRT_CALL(api, PJRT_Event_Destroy, destroy));
  return status;
}

// A layout in the C API's form; the arrays it points to live as long as it does.
class ApiLayout {
 public:
  ApiLayout(const absl::Span<const int64_t> minor_to_major, const Layout* tiled)
      : minor_to_major_(minor_to_major.begin(), minor_to_major.end()) {
    if (tiled != nullptr) {
      for (const Tile& tile : tiled->tiles) {
        sizes_.push_back(tile.dimensions.size());
        dims_.insert(dims_.end(), tile.dimensions.begin(), tile.dimensions.end());
      }
    }
    layout_.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
    layout_.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    layout_.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
    layout_.tiled.minor_to_major = minor_to_major_.data();
    layout_.tiled.minor_to_major_size = minor_to_major_.size();
    layout_.tiled.tile_dims = dims_.data();
    layout_.tiled.tile_dim_sizes = sizes_.data();
    layout_.tiled.num_tiles = sizes_.size();
  }
  ApiLayout(const ApiLayout&) = delete;
  ApiLayout& operator=(const ApiLayout&) = delete;
  PJRT_Buffer_MemoryLayout* get() { return &layout_; }

 private:
  std::vector<int64_t> minor_to_major_;
  std::vector<int64_t> dims_;
  std::vector<size_t> sizes_;
  PJRT_Buffer_MemoryLayout layout_ = {};
};

std::vector<int64_t> RowMajor(size_t rank) {
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(rank - 1 - i);
  return order;
}

// True for a row-major layout without tiles.
bool IsPlain(const Layout* layout, size_t rank) {
  if (layout == nullptr) return true;
  const std::vector<int64_t> order = RowMajor(rank);
  return layout->tiles.empty() &&
         std::equal(order.begin(), order.end(), layout->minor_to_major.begin(),
                    layout->minor_to_major.end());
}

}  // namespace

struct PjrtClient::Impl {
  const PJRT_Api* api;
  PJRT_Client* client;
  std::vector<PJRT_Device*> devices;
};

struct PjrtBuffer::Impl {
  const PJRT_Api* api;
  PJRT_Buffer* buffer;
};

struct PjrtExecutable::Impl {
  const PJRT_Api* api;
  PJRT_LoadedExecutable* loaded;
  PJRT_Executable* executable;
  size_t outputs = 0;
  std::unique_ptr<HloModule> optimized;
  double compile_seconds = 0;
};

PjrtClient::PjrtClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

absl::StatusOr<std::unique_ptr<PjrtClient>> PjrtClient::Create(const PjrtPlugin& plugin) {
  const auto* api = static_cast<const PJRT_Api*>(plugin.api());
  AUTOTUNE_PJRT_ARGS(PJRT_Client_Create_Args, create);
  absl::Status status = AUTOTUNE_PJRT_CALL(*api, PJRT_Client_Create, create);
  if (!status.ok()) return status;
  std::unique_ptr<PjrtClient> client(
      new PjrtClient(std::make_unique<Impl>(Impl{api, create.client, {}})));
  AUTOTUNE_PJRT_ARGS(PJRT_Client_AddressableDevices_Args, devices);
  devices.client = create.client;
  status = AUTOTUNE_PJRT_CALL(*api, PJRT_Client_AddressableDevices, devices);
  if (!status.ok()) return status;
  client->impl_->devices.assign(devices.addressable_devices,
                                devices.addressable_devices + devices.num_addressable_devices);
  if (client->impl_->devices.empty()) return absl::UnavailableError("the plugin has no device");
  return client;
}

PjrtClient::~PjrtClient() {
  AUTOTUNE_PJRT_ARGS(PJRT_Client_Destroy_Args, destroy);
  destroy.client = impl_->client;
  (void)AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_Client_Destroy, destroy);
}

std::string PjrtClient::PlatformName() const {
  AUTOTUNE_PJRT_ARGS(PJRT_Client_PlatformName_Args, args);
  args.client = impl_->client;
  if (!AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_Client_PlatformName, args).ok()) return "";
  return std::string(args.platform_name, args.platform_name_size);
}

std::string PjrtClient::PlatformVersion() const {
  AUTOTUNE_PJRT_ARGS(PJRT_Client_PlatformVersion_Args, args);
  args.client = impl_->client;
  if (!AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_Client_PlatformVersion, args).ok()) return "";
  return std::string(args.platform_version, args.platform_version_size);
}

std::vector<std::string> PjrtClient::DeviceKinds() const {
  std::vector<std::string> kinds;
  for (PJRT_Device* device : impl_->devices) {
    AUTOTUNE_PJRT_ARGS(PJRT_Device_GetDescription_Args, description);
    description.device = device;
    AUTOTUNE_PJRT_ARGS(PJRT_DeviceDescription_Kind_Args, kind);
    if (!AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_Device_GetDescription, description).ok()) continue;
    kind.device_description = description.device_description;
    if (!AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_DeviceDescription_Kind, kind).ok()) continue;
    kinds.emplace_back(kind.device_kind, kind.device_kind_size);
  }
  return kinds;
}

absl::StatusOr<std::unique_ptr<PjrtExecutable>> PjrtClient::Compile(
    const PjrtProgram& program, absl::string_view options) const {
  const PJRT_Api& api = *impl_->api;
  ApiProgram source(program);
  AUTOTUNE_PJRT_ARGS(PJRT_Client_Compile_Args, args);
  args.client = impl_->client;
  args.program = source.get();
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  const absl::Time start = absl::Now();
  absl::Status status = AUTOTUNE_PJRT_CALL(api, PJRT_Client_Compile, args);
  if (!status.ok()) return status;
  std::unique_ptr<PjrtExecutable> executable(
      new PjrtExecutable(std::make_unique<PjrtExecutable::Impl>(
          PjrtExecutable::Impl{&api, args.executable, nullptr})));
  PjrtExecutable::Impl& impl = *executable->impl_;
  impl.compile_seconds = absl::ToDoubleSeconds(absl::Now() - start);
  AUTOTUNE_PJRT_ARGS(PJRT_LoadedExecutable_GetExecutable_Args, get);
  get.loaded_executable = impl.loaded;
  status = AUTOTUNE_PJRT_CALL(api, PJRT_LoadedExecutable_GetExecutable, get);
  if (!status.ok()) return status;
  impl.executable = get.executable;
  AUTOTUNE_PJRT_ARGS(PJRT_Executable_NumOutputs_Args, outputs);
  outputs.executable = impl.executable;
  status = AUTOTUNE_PJRT_CALL(api, PJRT_Executable_NumOutputs, outputs);
  if (!status.ok()) return status;
  impl.outputs = outputs.num_outputs;
  absl::StatusOr<std::string> optimized = ReadOptimizedModule(api, impl.executable);
  if (absl::IsUnimplemented(optimized.status())) return executable;
  if (!optimized.ok()) return optimized.status();
  proto::HloModuleProto module;
  if (!module.ParseFromString(*optimized)) {
    return absl::DataLossError("the plugin's optimised program cannot be read");
  }
  absl::StatusOr<std::unique_ptr<HloModule>> parsed =
      HloModule::FromProto(module, /*keep_unknown=*/true);
  if (!parsed.ok()) return parsed.status();
  impl.optimized = *std::move(parsed);
  return executable;
}

absl::StatusOr<std::unique_ptr<PjrtBuffer>> PjrtClient::Upload(const HostArray& array,
                                                               const Layout* layout) const {
  absl::StatusOr<PJRT_Buffer_Type> type = ToBufferType(array.type);
  if (!type.ok()) return type.status();
  AUTOTUNE_PJRT_ARGS(PJRT_Client_BufferFromHostBuffer_Args, args);
  args.client = impl_->client;
  args.data = array.bytes.data();
  args.type = *type;
  args.dims = array.dimensions.data();
  args.num_dims = array.dimensions.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes;
  args.device = impl_->devices.front();
  std::unique_ptr<ApiLayout> wanted;
  if (!IsPlain(layout, array.dimensions.size())) {
    wanted = std::make_unique<ApiLayout>(layout->minor_to_major, layout);
    args.device_layout = wanted->get();
  }
  absl::Status status = AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_Client_BufferFromHostBuffer, args);
  if (!status.ok()) return status;
  std::unique_ptr<PjrtBuffer> buffer(new PjrtBuffer(
      std::make_unique<PjrtBuffer::Impl>(PjrtBuffer::Impl{impl_->api, args.buffer})));
  status = TakeEvent(*impl_->api, args.done_with_host_buffer);
  if (!status.ok()) return status;
  AUTOTUNE_PJRT_ARGS(PJRT_Buffer_ReadyEvent_Args, ready);
  ready.buffer = args.buffer;
  status = AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_Buffer_ReadyEvent, ready);
  status.Update(TakeEvent(*impl_->api, ready.event));
  if (!status.ok()) return status;
  return buffer;
}

PjrtBuffer::PjrtBuffer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PjrtBuffer::~PjrtBuffer() {
  AUTOTUNE_PJRT_ARGS(PJRT_Buffer_Destroy_Args, destroy);
  destroy.buffer = impl_->buffer;
  (void)AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_Buffer_Destroy, destroy);
}

absl::StatusOr<HostArray> PjrtBuffer::Download() const {
  const PJRT_Api& api = *impl_->api;
  AUTOTUNE_PJRT_ARGS(PJRT_Buffer_ElementType_Args, type);
  type.buffer = impl_->buffer;
  absl::Status status = AUTOTUNE_PJRT_CALL(api, PJRT_Buffer_ElementType, type);
  AUTOTUNE_PJRT_ARGS(PJRT_Buffer_Dimensions_Args, dims);
  dims.buffer = impl_->buffer;
  status.Update(AUTOTUNE_PJRT_CALL(api, PJRT_Buffer_Dimensions, dims));
  if (!status.ok()) return status;
  absl::StatusOr<ElementType> element = FromBufferType(type.type);
  if (!element.ok()) return element.status();
  HostArray array;
  array.type = *element;
  array.dimensions.assign(dims.dims, dims.dims + dims.num_dims);
  ApiLayout row_major(RowMajor(array.dimensions.size()), nullptr);
  array.bytes.resize(static_cast<size_t>(array.ElementCount() * ByteWidth(*element)));
  AUTOTUNE_PJRT_ARGS(PJRT_Buffer_ToHostBuffer_Args, copy);
  copy.src = impl_->buffer;
  copy.host_layout = row_major.get();
  copy.dst = array.bytes.data();
  copy.dst_size = array.bytes.size();
  status = AUTOTUNE_PJRT_CALL(api, PJRT_Buffer_ToHostBuffer, copy);
  if (status.ok()) status = TakeEvent(api, copy.event);
  if (!status.ok()) return status;
  return array;
}

PjrtExecutable::PjrtExecutable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PjrtExecutable::~PjrtExecutable() {
  if (impl_->executable != nullptr) {
    AUTOTUNE_PJRT_ARGS(PJRT_Executable_Destroy_Args, destroy);
    destroy.executable = impl_->executable;
    (void)AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_Executable_Destroy, destroy);
  }
  AUTOTUNE_PJRT_ARGS(PJRT_LoadedExecutable_Destroy_Args, destroy);
  destroy.executable = impl_->loaded;
  (void)AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_LoadedExecutable_Destroy, destroy);
}

const HloModule* PjrtExecutable::optimized() const { return impl_->optimized.get(); }
double PjrtExecutable::compile_seconds() const { return impl_->compile_seconds; }

absl::StatusOr<PjrtExecutable::Outcome> PjrtExecutable::Run(
    const std::vector<const PjrtBuffer*>& arguments) const {
  const PJRT_Api& api = *impl_->api;
  std::vector<PJRT_Buffer*> inputs;
  inputs.reserve(arguments.size());
  for (const PjrtBuffer* argument : arguments) inputs.push_back(argument->impl_->buffer);
  PJRT_Buffer* const* input_list = inputs.data();
  std::vector<PJRT_Buffer*> outputs(impl_->outputs, nullptr);
  PJRT_Buffer** output_list = outputs.data();
  PJRT_Event* complete = nullptr;
  AUTOTUNE_PJRT_ARGS(PJRT_ExecuteOptions, options);
  std::vector<int64_t> kept(inputs.size());  // every buffer is used again
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = static_cast<int64_t>(i);
  options.non_donatable_input_indices = kept.data();
  options.num_non_donatable_input_indices = kept.size();
  AUTOTUNE_PJRT_ARGS(PJRT_LoadedExecutable_Execute_Args, args);
  args.executable = impl_->loaded;
  args.options = &options;
  args.argument_lists = &input_list;
  args.num_devices = 1;
  args.num_args = inputs.size();
  args.output_lists = &output_list;
  args.device_complete_events = &complete;
  const absl::Time start = absl::Now();
  absl::Status status = AUTOTUNE_PJRT_CALL(api, PJRT_LoadedExecutable_Execute, args);
  if (status.ok()) status = TakeEvent(api, complete);
  Outcome outcome;
  outcome.seconds = absl::ToDoubleSeconds(absl::Now() - start);
  for (PJRT_Buffer* output : outputs) {
    if (output == nullptr) continue;
    outcome.outputs.push_back(std::unique_ptr<PjrtBuffer>(
        new PjrtBuffer(std::make_unique<PjrtBuffer::Impl>(PjrtBuffer::Impl{&api, output}))));
  }
  if (!status.ok()) return status;
  if (outcome.outputs.size() != impl_->outputs) {
    return absl::InternalError("the plugin did not give every output");
  }
  return outcome;
}

absl::StatusOr<std::string> PjrtExecutable::Serialize() const {
  return SerializeExecutable(*impl_->api, impl_->executable);
}

#else  // AUTOTUNE_HAS_PJRT

struct PjrtClient::Impl {};
struct PjrtBuffer::Impl {};
struct PjrtExecutable::Impl {};

namespace {
absl::Status NotBuilt() {
  return absl::UnimplementedError(
      "autotune was built without the C header of the PJRT API: run ./autotune --with aot");
}
}  // namespace

absl::StatusOr<std::unique_ptr<PjrtClient>> PjrtClient::Create(const PjrtPlugin&) {
  return NotBuilt();
}
PjrtClient::PjrtClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PjrtClient::~PjrtClient() = default;
std::string PjrtClient::PlatformName() const { return ""; }
std::string PjrtClient::PlatformVersion() const { return ""; }
std::vector<std::string> PjrtClient::DeviceKinds() const { return {}; }
absl::StatusOr<std::unique_ptr<PjrtExecutable>> PjrtClient::Compile(const PjrtProgram&,
                                                                    absl::string_view) const {
  return NotBuilt();
}
absl::StatusOr<std::unique_ptr<PjrtBuffer>> PjrtClient::Upload(const HostArray&,
                                                               const Layout*) const {
  return NotBuilt();
}
PjrtBuffer::PjrtBuffer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PjrtBuffer::~PjrtBuffer() = default;
absl::StatusOr<HostArray> PjrtBuffer::Download() const { return NotBuilt(); }
PjrtExecutable::PjrtExecutable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PjrtExecutable::~PjrtExecutable() = default;
const HloModule* PjrtExecutable::optimized() const { return nullptr; }
double PjrtExecutable::compile_seconds() const { return 0; }
absl::StatusOr<PjrtExecutable::Outcome> PjrtExecutable::Run(
    const std::vector<const PjrtBuffer*>&) const {
  return NotBuilt();
}
absl::StatusOr<std::string> PjrtExecutable::Serialize() const { return NotBuilt(); }

#endif  // AUTOTUNE_HAS_PJRT

}  // namespace autotune
