// Host streams, events and host functions of ronde.h.
#include "api/group.h"
#include "api/handles.h"

using ronde::Status;
using ronde::api::check_event;
using ronde::api::check_not_in_group;
using ronde::api::check_stream;
using ronde::api::guarded;
using ronde::api::said_by;

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
    return said_by("rondeStreamSynchronize", stream->stream.synchronize());
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
    RONDE_TRY(check_not_in_group(stream->stream, "rondeStreamDestroy"));
    RONDE_TRY(said_by("rondeStreamDestroy", ronde::api::process().worker().check_may_wait()));
    const Status status = stream->stream.synchronize();
    delete stream;
    return status;
  });
}

rondeResult_t rondeStreamWaitEvent(rondeStream_t stream, rondeEvent_t event) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_stream(stream, "rondeStreamWaitEvent"));
    RONDE_TRY(check_event(event, "rondeStreamWaitEvent"));
    RONDE_TRY(check_not_in_group(stream->stream, "rondeStreamWaitEvent"));
    return said_by("rondeStreamWaitEvent", stream->stream.wait_for(event->event));
  });
}

rondeResult_t rondeLaunchHostFunc(rondeStream_t stream, rondeHostFn_t fn, void* user) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_stream(stream, "rondeLaunchHostFunc"));
    RONDE_TRY(ronde::api::not_null(reinterpret_cast<const void*>(fn), "rondeLaunchHostFunc", "fn"));
    RONDE_TRY(check_not_in_group(stream->stream, "rondeLaunchHostFunc"));
    const auto call = [fn, user](const Status& status) {
      if (!status.ok()) ronde::api::remember(status);
      fn(status.code(), user);
    };
    return said_by("rondeLaunchHostFunc", stream->stream.call(call));
  });
}

rondeResult_t rondeEventCreate(rondeEvent_t* event) {
  return guarded([&]() -> Status {
    RONDE_TRY(ronde::api::check_not_forked("rondeEventCreate"));
    RONDE_TRY(ronde::api::not_null(event, "rondeEventCreate", "event"));
    *event = new rondeEvent(ronde::api::process().worker());
    return {};
  });
}

rondeResult_t rondeEventDestroy(rondeEvent_t event) {
  return guarded([&]() -> Status {
    if (event == nullptr) return {};
    RONDE_TRY(check_event(event, "rondeEventDestroy"));
    delete event;
    return {};
  });
}

rondeResult_t rondeEventRecord(rondeEvent_t event, rondeStream_t stream) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_event(event, "rondeEventRecord"));
    RONDE_TRY(check_stream(stream, "rondeEventRecord"));
    RONDE_TRY(check_not_in_group(stream->stream, "rondeEventRecord"));
    return said_by("rondeEventRecord", event->event.record(stream->stream));
  });
}

rondeResult_t rondeEventQuery(rondeEvent_t event) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_event(event, "rondeEventQuery"));
    if (event->event.reached()) return {};
    return {rondeInProgress, "the event has not been reached yet"};
  });
}

rondeResult_t rondeEventSynchronize(rondeEvent_t event) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_event(event, "rondeEventSynchronize"));
    return said_by("rondeEventSynchronize", event->event.synchronize());
  });
}
