# Stops PROGRAM in stop_here under GDB with SCRIPT loaded and looks at what its arguments are printed as.
set(commands)
foreach(name floats view halves complex conjugated negative meta wrapped nothing)
  list(APPEND commands -ex "print ${name}")
endforeach()
execute_process(COMMAND ${GDB} -nx -batch -ex "source ${SCRIPT}" -ex "break stop_here" -ex run ${commands}
                        -ex "print floats.cell_.object_->body.object_->layout_.shape" ${PROGRAM}
                OUTPUT_VARIABLE printed ERROR_VARIABLE printed)
foreach(expected
    "tensor([0, 1, 2, 3, 4, 5, ...], size=(2, 4), stride=(4, 1), offset=0, dtype=float32, device=cpu, cell=0x"
    "tensor([0, 4, 1, 5, 2, 6, ...], size=(4, 2), stride=(1, 4), offset=0, dtype=float32, device=cpu"
    "tensor([1.5, -2], size=(2,), stride=(1,), offset=0, dtype=bfloat16"
    "tensor([1-2j], size=(1,), stride=(1,), offset=0, dtype=complex64"
    "tensor([1+2j], size=(1,), stride=(1,), offset=0, dtype=complex64, device=cpu, conj"
    "tensor([2], size=(1,), stride=(2,), offset=1, dtype=float32, device=cpu, neg"
    "tensor(..., size=(3,), stride=(1,), offset=0, dtype=float32, device=meta"
    "ScaledTensor(..., size=(2, 4)"
    "tensor(undefined)"
    "= (2, 4)")
  string(FIND "${printed}" "${expected}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "gdb does not show '${expected}':\n${printed}")
  endif()
endforeach()
