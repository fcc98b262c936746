# Run as a script: writes OUTPUT, the definition of ronde::source_digest(), from all sources of the library under ROOT.
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/include/*.h ${ROOT}/src/*.h ${ROOT}/src/*.cc ${ROOT}/transports/*.h
     ${ROOT}/transports/*.cc)
list(SORT files)
foreach(file ${files})
  file(SHA256 ${ROOT}/${file} digest)
  string(APPEND all "${file} ${digest}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 12 digest)
file(WRITE ${OUTPUT} "#include \"base/source_digest.h\"\n\nnamespace ronde {\n\n"
     "std::string_view source_digest() { return \"${digest}\"; }\n\n}  // namespace ronde\n")
