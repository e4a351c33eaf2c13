# A class or a function that two files define differently: the linker takes one of the two and says nothing. With -flto g++
# has both definitions before it when it links, and compares them. The program holds the objects of every layer and of the
# command, not the libraries, from which a linker takes only what is used; nobody runs it.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "TENON_ODR needs g++, which has -Wodr; this is ${CMAKE_CXX_COMPILER_ID}")
endif()
target_compile_options(tenon_options INTERFACE -flto=auto)
target_link_options(tenon_options INTERFACE -flto=auto -Werror=odr -Werror=lto-type-mismatch)

add_executable(tenon_odr)
foreach(layer base kernels core io operator_kernels dispatch ops autograd nn optim load)
  target_sources(tenon_odr PRIVATE $<TARGET_OBJECTS:layer_${layer}>)
endforeach()
# main is the command's.
target_sources(tenon_odr PRIVATE $<TARGET_OBJECTS:tenon_cli>)
set_target_properties(tenon_odr PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(tenon_odr PRIVATE tenon_options Threads::Threads hwy::hwy dnnl deflate simdjson re2 ${CMAKE_DL_LIBS})
