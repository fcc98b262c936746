// Host streams of ronde.h.
#include "api/group.h"
#include "api/handles.h"

using ronde::Status;
using ronde::api::check_stream;
using ronde::api::guarded;

rondeResult_t rondeStreamCreate(rondeStream_t* stream) {
  return guarded([&]() -> Status {
    RONDE_TRY(ronde::api::check_not_forked("rondeStreamCreate"));
    RONDE_TRY(ronde::api::not_null(stream, "rondeStreamCreate", "stream"));
    *stream = new rondeStream(ronde::api::process().worker());
    return {};
  });
}

rondeResult_t rondeStreamSynchronize(rondeStream_t stream) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_stream(stream, "rondeStreamSynchronize"));
    return stream->stream.synchronize();
  });
}

rondeResult_t rondeStreamQuery(rondeStream_t stream) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_stream(stream, "rondeStreamQuery"));
    return stream->stream.query();
  });
}

rondeResult_t rondeStreamDestroy(rondeStream_t stream) {
  return guarded([&]() -> Status {
    if (stream == nullptr) return {};
    RONDE_TRY(check_stream(stream, "rondeStreamDestroy"));
    RONDE_TRY(ronde::api::check_not_in_group(stream->stream, "rondeStreamDestroy"));
    const Status status = stream->stream.synchronize();
    delete stream;
    return status;
  });
}
