# The tests load the module of learned models, where LibTorch is there to build it.
if(TARGET autotune_torch)
  add_dependencies(costmodel_test autotune_torch)
endif()
