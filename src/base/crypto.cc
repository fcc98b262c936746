#include "base/crypto.h"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <memory>
#include <new>

namespace ronde {
namespace {

struct FreeMac {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
};
struct FreeContext {
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};

const unsigned char* data_of(ByteView bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

// OpenSSL without its exit handler: a child forked while another thread is inside OpenSSL inherits locks that
// nobody gives back, and the handler would wait for them when the child ends.
void begin_openssl() { [[maybe_unused]] static const int begun = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

// A MAC that could not be computed must never look like one: no way on from here.
void require(bool worked) {
  if (!worked) throw std::bad_alloc();
}

}  // namespace

Mac hmac_sha256_of_parts(ByteView key, std::initializer_list<ByteView> parts) {
  begin_openssl();
  const std::unique_ptr<EVP_MAC, FreeMac> algorithm(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  require(algorithm != nullptr);
  const std::unique_ptr<EVP_MAC_CTX, FreeContext> context(EVP_MAC_CTX_new(algorithm.get()));
  require(context != nullptr);

  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  require(EVP_MAC_init(context.get(), data_of(key), key.size(), parameters) == 1);
  for (const ByteView part : parts) require(EVP_MAC_update(context.get(), data_of(part), part.size()) == 1);

  Mac mac{};
  size_t written = 0;
  require(EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(mac.data()), &written, mac.size()) == 1);
  require(written == mac.size());
  return mac;
}

Mac hmac_sha256(ByteView key, ByteView message) { return hmac_sha256_of_parts(key, {message}); }

Digest sha256(ByteView message) {
  begin_openssl();
  Digest digest{};
  unsigned int written = 0;
  require(EVP_Digest(data_of(message), message.size(), reinterpret_cast<unsigned char*>(digest.data()), &written,
                     EVP_sha256(), nullptr) == 1);
  require(written == digest.size());
  return digest;
}

Status random_bytes(std::span<std::byte> target) {
  begin_openssl();
  if (RAND_bytes(reinterpret_cast<unsigned char*>(target.data()), static_cast<int>(target.size())) == 1) return {};
  char reason[256];
  ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
  return {rondeSystemError, fmt::format("the system gives no random bytes: {}", reason)};
}

bool equal_in_constant_time(ByteView a, ByteView b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace ronde
