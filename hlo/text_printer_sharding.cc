#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/text_printer.h"

namespace autotune {

void TextPrinter::Sharding(const proto::OpSharding& sharding) {
  if (sharding.type() != proto::OpSharding::TUPLE) return SimpleSharding(sharding);
  Add('{');
  for (int i = 0; i < sharding.tuple_shardings_size(); ++i) {
    if (i > 0) Add(", ");
    if (i > 0 && i % 5 == 0) absl::StrAppend(&out_, "/*index=", i, "*/");
    SimpleSharding(sharding.tuple_shardings(i));
  }
  Add('}');
}

void TextPrinter::SimpleSharding(const proto::OpSharding& sharding) {
  if (sharding.has_named_sharding()) return NamedSharding(sharding.named_sharding());
  Add('{');
  switch (sharding.type()) {
    case proto::OpSharding::REPLICATED:
      Add("replicated");
      break;
    case proto::OpSharding::MANUAL:
      Add("manual");
      break;
    case proto::OpSharding::UNKNOWN:
      Add("unknown");
      break;
    case proto::OpSharding::UNREDUCED:
      Add("unreduced");
      break;
    case proto::OpSharding::MAXIMAL:
      Add("maximal device=");
      Numbers(sharding.tile_assignment_devices());
      break;
    default:
      Add("devices=[");
      Numbers(sharding.tile_assignment_dimensions());
      Add(']');
      if (sharding.iota_reshape_dims().empty()) {
        Numbers(sharding.tile_assignment_devices());
        break;
      }
      Add("<=[");
      Numbers(sharding.iota_reshape_dims());
      Add(']');
      if (sharding.iota_reshape_dims_size() > 1) {
        Add("T(");
        Numbers(sharding.iota_transpose_perm());
        Add(')');
      }
  }
  if (sharding.replicate_on_last_tile_dim()) Add(" last_tile_dim_replicate");
  if (!sharding.last_tile_dims().empty()) {
    Add(" last_tile_dims={");
    for (int i = 0; i < sharding.last_tile_dims_size(); ++i) {
      if (i > 0) Add(", ");
      switch (sharding.last_tile_dims(i)) {
        case proto::OpSharding::MAXIMAL:
          Add("maximal");
          break;
        case proto::OpSharding::MANUAL:
          Add("manual");
          break;
        case proto::OpSharding::UNREDUCED:
          Add("unreduced");
          break;
        default:
          Add("replicated");
      }
    }
    Add('}');
  }
  if (sharding.is_shard_group()) {
    Add(sharding.shard_group_type() == proto::OpSharding::AS ? " shard_as " : " shard_like ");
    Number(sharding.shard_group_id());
  }
  ShardingMetadata(sharding.metadata(), " ");
  Add('}');
}

void TextPrinter::ShardingMetadata(
    const google::protobuf::RepeatedPtrField<proto::OpMetadata>& metadata,
    absl::string_view prefix) {
  if (metadata.empty() || !options_.metadata) return;
  Add(prefix);
  Add("metadata=");
  if (metadata.size() > 1) Add('{');
  bool first = true;
  for (const proto::OpMetadata& one : metadata) {
    if (!std::exchange(first, false)) Add(", ");
    Metadata(one);
  }
  if (metadata.size() > 1) Add('}');
}

void TextPrinter::MeshText(const proto::MeshProto& mesh) {
  if (mesh.axes().empty() && !mesh.device_ids().empty()) {
    Add("maximal_mesh[device_id=");
    Number(mesh.device_ids(0));
    return Add(']');
  }
  Add("mesh[");
  bool first = true;
  for (const proto::MeshProto::MeshAxis& axis : mesh.axes()) {
    if (!std::exchange(first, false)) Add(',');
    Quoted(axis.name());
    Add('=');
    Number(axis.size());
  }
  Add(']');
  if (mesh.has_iota_transform()) {
    Add(", device_ids=([");
    Numbers(mesh.iota_transform().reshape_dims());
    Add(']');
    if (!mesh.iota_transform().transpose_perm().empty()) {
      Add("T(");
      Numbers(mesh.iota_transform().transpose_perm());
      Add(')');
    }
    Add(')');
  } else if (!mesh.device_ids().empty()) {
    Add(", device_ids=(");
    Numbers(mesh.device_ids());
    Add(')');
  }
}

void TextPrinter::Axis(const proto::MeshProto& mesh, const proto::AxisRefProto& axis) {
  const int64_t index = axis.mesh_axis_index();
  Quoted(index >= 0 && index < mesh.axes_size() ? mesh.axes(static_cast<int>(index)).name() : "");
  if (!axis.has_sub_axis_info()) return;
  Add(":(");
  Number(axis.sub_axis_info().pre_size());
  Add(')');
  Number(axis.sub_axis_info().size());
}

void TextPrinter::Axes(const proto::MeshProto& mesh,
                       const google::protobuf::RepeatedPtrField<proto::AxisRefProto>& axes) {
  Add('{');
  bool first = true;
  for (const proto::AxisRefProto& axis : axes) {
    if (!std::exchange(first, false)) Add(", ");
    Axis(mesh, axis);
  }
  Add('}');
}

void TextPrinter::NamedSharding(const proto::NamedShardingProto& sharding) {
  const proto::MeshProto& mesh = sharding.mesh();
  Add('{');
  MeshText(mesh);
  const bool tiled = !sharding.dim_shardings().empty();
  if (tiled) {
    Add(", [");
    bool first = true;
    for (const auto& dimension : sharding.dim_shardings()) {
      if (!std::exchange(first, false)) Add(", ");
      Axes(mesh, dimension.axes());
      if (dimension.is_closed()) continue;
      out_.pop_back();
      Add(dimension.axes().empty() ? "?}" : ", ?}");
    }
    Add(']');
  }
  const auto axes = [&](absl::string_view name, const auto& list) {
    if (list.empty()) return;
    Begin(name);
    Axes(mesh, list);
  };
  const bool one_device = mesh.axes().empty() && !mesh.device_ids().empty();
  const bool whole = !tiled && sharding.replicated_axes().empty() && !mesh.axes().empty();
  const bool replicated =
      (whole && sharding.manual_axes().empty() && sharding.unreduced_axes().empty()) ||
      (!tiled && mesh.axes().empty() && !one_device);
  if (whole && sharding.manual_axes_size() == mesh.axes_size()) {
    Add(", manual");
  } else if (whole && sharding.unreduced_axes_size() == mesh.axes_size()) {
    Add(", unreduced");
  } else if (replicated) {
    Add(", replicated");
  } else {
    if (!tiled && !mesh.axes().empty()) Add(", []");
    axes("replicated", sharding.replicated_axes());
    axes("unreduced", sharding.unreduced_axes());
    axes("manual", sharding.manual_axes());
  }
  ShardingMetadata(sharding.metadata(), ", ");
  Add('}');
}

void TextPrinter::ReplicaGroups(const P& p) {
  switch (p.replica_group_list_case()) {
    case P::kCollectiveDeviceList: {
      Begin("replica_groups");
      Add('{');
      bool first = true;
      for (const proto::ReplicaGroup& group : p.collective_device_list().replica_groups()) {
        Add(std::exchange(first, false) ? "{" : ",{");
        Numbers(group.replica_ids());
        Add('}');
      }
      return Add('}');
    }
    case P::kIotaCollectiveDeviceList: {
      const proto::IotaReplicaGroupListProto& list = p.iota_collective_device_list();
      absl::StrAppend(&out_, ", replica_groups=[", list.num_replica_groups(), ",",
                      list.num_devices_per_group(), "]<=[");
      Numbers(list.iota_reshape_dims());
      Add(']');
      if (list.iota_reshape_dims_size() <= 1) return;
      Add("T(");
      Numbers(list.iota_transpose_perm());
      return Add(')');
    }
    case P::kMeshAxesReplicaGroupList:
      Begin("replica_groups");
      MeshText(p.mesh_axes_replica_group_list().mesh());
      Add(' ');
      return Axes(p.mesh_axes_replica_group_list().mesh(), p.mesh_axes_replica_group_list().axes());
    default:
      return;
  }
}

}  // namespace autotune
