#include "ronderun/meeting.h"

#include "api/options.h"
#include "base/event_loop.h"
#include "base/settings.h"
#include "bootstrap/rendezvous.h"

namespace ronde::launcher {
namespace {

// Programs may take long before they come to the library, or never use it. How long ranks wait for each other is
// theirs.
constexpr Milliseconds kForTheWholeJob = std::chrono::hours(24 * 3650);

class RootMeeting final : public Meeting {
 public:
  Status start() {
    RONDE_ASSIGN(const auto settings, Settings::from_environment());
    warn_about_unknown_settings();  // for all ranks: they stay silent about it
    auto options = api::rendezvous_options(settings);
    options.init_timeout = kForTheWholeJob;
    RONDE_ASSIGN(const auto id, start_root(loop_, options));
    id_text_ = ronde::id_to_text(id.pack());
    return {};
  }
  [[nodiscard]] const std::string& id_text() const override { return id_text_; }

 private:
  EventLoop loop_;
  std::string id_text_;
};

}  // namespace

Result<std::unique_ptr<Meeting>> Meeting::create() {
  auto meeting = std::make_unique<RootMeeting>();
  RONDE_TRY(meeting->start());
  return std::unique_ptr<Meeting>(std::move(meeting));
}

}  // namespace ronde::launcher
