#ifndef AUTOTUNE_HLO_FUSION_REALISED_H_
#define AUTOTUNE_HLO_FUSION_REALISED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hlo/fusion_graph.h"
#include "hlo/module.h"
#include "proto/hlo.pb.h"

namespace autotune {

// A kernel of an optimised program and the operations of the original in it.
struct RealisedKernel {
  std::string name;            // in the optimised program
  int64_t executions = 1;      // in one execution of the program
  std::vector<int32_t> nodes;  // of the FusionGraph, ascending; empty for what the compiler added
};

// What the compiler made of a program: which operations share a kernel.
struct RealisedGrouping {
  std::vector<RealisedKernel> kernels;  // in the order of the optimised program

  // The identity of the grouping: equal if and only if the same operations share kernels, whatever
  // the kernels' names, order and inner structure. "g=" and 16 hexadecimal digits.
  std::string Key() const;
};

// Writes into `program`, made of `graph`'s program (FusionProgram or its own protobuf), the number
// of its node into the `op_name` of every instruction, which the compiler carries along, and takes
// every other `op_name` away. Barriers get none. For compiling only: names of operations are lost.
void StampNodes(const FusionGraph& graph, proto::HloModuleProto* program);

// Reads the grouping from what a compiler made of a stamped program.
RealisedGrouping ReadRealisedGrouping(const HloModule& optimized);

// How the edges and nodes of a graph came out in a compilation.
struct FusionOutline {
  std::vector<bool> fused;   // by edge: both ends share a kernel
  std::vector<bool> absent;  // by node: in no kernel (folded away, or a bitcast)
};

// A node in no kernel hands its place on: an edge into it is fused if the producer shares a kernel
// with what reads it, and so for an edge out of it.
FusionOutline OutlineOf(const FusionGraph& graph, const RealisedGrouping& grouping);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_FUSION_REALISED_H_
