# Warnings and sanitizers, for every target of the project.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(RONDE_WERROR)
  add_compile_options(-Werror)
endif()
if(RONDE_SANITIZE)
  add_compile_options(-fsanitize=${RONDE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RONDE_SANITIZE})
  if(RONDE_SANITIZE MATCHES "undefined")
    # vptr reads memory through a pipe, and reports sound objects where a test leaves no descriptor for it. The other two
    # find what the address sanitizer finds, too, and cost a fifth of the time of the build.
    add_compile_options(-fno-sanitize=vptr,null,object-size)
  endif()
endif()
