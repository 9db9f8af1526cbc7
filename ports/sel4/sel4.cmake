# sel4.cmake -- the stream in seL4's kernel: included before its sources are sorted. Fathom's tree lies in the kernel's as zfathom, whose path
# sorts after src: the sources are one file to the compiler, in that order.
foreach(source ports/sel4/fathom_sel4.c trace/ring/stream.c trace/ring/lz4.c trace/send/stream_dump.c wire/crc32.c wire/text.c)
  list(APPEND c_sources ${CMAKE_CURRENT_SOURCE_DIR}/zfathom/${source})
endforeach()
include_directories(zfathom/ports/sel4 zfathom zfathom/trace zfathom/trace/include)
include_directories(zfathom/ports/sel4/include)
add_compile_definitions(CONFIG_FATHOM_STREAM)
