#include "rendezvous/spake2.hpp"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>

#include <algorithm>
#include <utility>

#include "rendezvous/handles.hpp"

namespace udtx::apps {
namespace {

/// w is 64 bits longer than the order of the group, so that the remainder has no bias (RFC 9382, section 3.2).
constexpr std::size_t kWideScalarBytes = 40;
constexpr const char* kConfirmationInfo = "ConfirmationKeys";  // section 4
constexpr const char* kKeyInfo = "udtx rendezvous key";

// Section 6, for P-256. Compressed points.
constexpr const char* kPointM = "02886e2f97ace46e55ba9dd7242579f2993b64e16ef3dcab95afd497333d8fa12f";
constexpr const char* kPointN = "03d8bbd6c639c62937b04d997f38c3770719c629d7014d49a24b4f98baa1292b49";

NumberPtr secret_number() {
    NumberPtr number(BN_secure_new());
    must(number != nullptr);
    BN_set_flags(number.get(), BN_FLG_CONSTTIME);
    return number;
}

NumberPtr number_of(std::span<const std::byte> bytes) {
    NumberPtr number = secret_number();
    must(BN_bin2bn(as_uchar(bytes.data()), static_cast<int>(bytes.size()), number.get()) != nullptr);
    return number;
}

Secret32 bytes_of(const BIGNUM* number) {
    Secret32 out;
    must(BN_bn2binpad(number, as_uchar(out.bytes().data()), 32) == 32);
    return out;
}

GroupPtr p256() { return GroupPtr(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)); }

/// The transcript has lengths of eight bytes, the lowest first (section 3.3).
void append_with_length(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
    for (unsigned i = 0; i < 8; ++i) to.push_back(static_cast<std::byte>(std::uint64_t{bytes.size()} >> (8 * i)));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

Secret32 password_scalar(std::string_view password, std::string_view salt) {
    SecretBytes<kWideScalarBytes> wide;
    scrypt(password, salt, wide.bytes());
    const GroupPtr group = p256();
    const NumberContextPtr context(BN_CTX_secure_new());
    must(group != nullptr && context != nullptr);
    const NumberPtr number = number_of(wide.bytes());
    const NumberPtr rest = secret_number();
    must(BN_mod(rest.get(), number.get(), EC_GROUP_get0_order(group.get()), context.get()) == 1);
    return bytes_of(rest.get());
}

/// The group with the scalars of this end. Each multiplication has one scalar only, as OpenSSL then takes a time that
/// does not depend on it.
struct Spake2::Curve {
    GroupPtr group = p256();
    NumberContextPtr context{BN_CTX_secure_new()};
    NumberPtr password = secret_number();  // w
    NumberPtr secret = secret_number();    // x or y

    [[nodiscard]] PointPtr point() const {
        PointPtr made(EC_POINT_new(group.get()));
        must(made != nullptr);
        return made;
    }
    [[nodiscard]] PointPtr constant(const char* hex) const {
        PointPtr made(EC_POINT_hex2point(group.get(), hex, nullptr, context.get()));
        must(made != nullptr);
        return made;
    }
    /// scalar * base
    [[nodiscard]] PointPtr times(const BIGNUM* scalar, const EC_POINT* base) const {
        PointPtr product = point();
        must(EC_POINT_mul(group.get(), product.get(), nullptr, base, scalar, context.get()) == 1);
        return product;
    }
    [[nodiscard]] PointPtr sum(const EC_POINT* a, const EC_POINT* b) const {
        PointPtr out = point();
        must(EC_POINT_add(group.get(), out.get(), a, b, context.get()) == 1);
        return out;
    }
    /// The point that the bytes stand for; null if it is not an element of the group other than the identity. The group
    /// has the cofactor 1, so each point of the curve is in it.
    [[nodiscard]] PointPtr parse(std::span<const std::byte> bytes) const {
        if (bytes.size() != kMessageBytes || bytes[0] != std::byte{POINT_CONVERSION_UNCOMPRESSED}) return nullptr;
        PointPtr parsed = point();
        const bool good =
            EC_POINT_oct2point(group.get(), parsed.get(), as_uchar(bytes.data()), bytes.size(), context.get()) == 1 &&
            EC_POINT_is_at_infinity(group.get(), parsed.get()) == 0 &&
            EC_POINT_is_on_curve(group.get(), parsed.get(), context.get()) == 1;
        ERR_clear_error();
        return good ? std::move(parsed) : nullptr;
    }
    void write(const EC_POINT* from, std::span<std::byte, kMessageBytes> to) const {
        must(EC_POINT_point2oct(group.get(), from, POINT_CONVERSION_UNCOMPRESSED, as_uchar(to.data()), to.size(),
                                context.get()) == kMessageBytes);
    }
};

Spake2::Spake2(Setup setup, std::unique_ptr<Curve> curve) : setup_(std::move(setup)), curve_(std::move(curve)) {}
Spake2::~Spake2() = default;
Spake2::Spake2(Spake2&&) noexcept = default;
Spake2& Spake2::operator=(Spake2&&) noexcept = default;

Result<Spake2> Spake2::make(Setup setup, const Secret32& password, const std::optional<Secret32>& own_secret) {
    auto curve = std::make_unique<Curve>();
    if (!curve->group || !curve->context) {
        return Error{ErrorCode::internal, "this OpenSSL lacks the curve P-256: install one that has it"};
    }
    const BIGNUM* const order = EC_GROUP_get0_order(curve->group.get());
    curve->password = number_of(password.bytes());
    if (own_secret) {
        curve->secret = number_of(own_secret->bytes());
    } else {
        do {
            must(BN_priv_rand_range_ex(curve->secret.get(), order, 0, curve->context.get()) == 1);
        } while (BN_is_zero(curve->secret.get()) == 1);
    }
    Spake2 made(std::move(setup), std::move(curve));
    // Section 3.3: pA = x*P + w*M, pB = y*P + w*N.
    const Curve& in = *made.curve_;
    const PointPtr fixed = in.constant(made.setup_.party == Party::a ? kPointM : kPointN);
    const PointPtr random = in.times(in.secret.get(), EC_GROUP_get0_generator(in.group.get()));
    const PointPtr blinded = in.sum(random.get(), in.times(in.password.get(), fixed.get()).get());
    if (EC_POINT_is_at_infinity(in.group.get(), blinded.get()) == 1) {
        return Error{ErrorCode::internal, "the random number of this exchange is not usable: try again"};
    }
    in.write(blinded.get(), made.message_);
    return made;
}

Error Spake2::fail(ErrorCode code, const char* why) {
    if (stage_ != Stage::failed) stage_.enter(Stage::failed);
    wipe(agreed_key_.bytes());
    wipe(key_.bytes());
    return {code, why};
}

Result<void> Spake2::on_message(std::span<const std::byte> peer) {
    if (stage_ != Stage::offered) return fail(ErrorCode::protocol, "the other end sent a second key message");
    const Curve& in = *curve_;
    const PointPtr theirs = in.parse(peer);
    if (!theirs) return fail(ErrorCode::protocol, "the key message of the other end is not a point of the curve");
    // Section 3.3: K = x*(pB - w*N), or y*(pA - w*M).
    const PointPtr fixed = in.constant(setup_.party == Party::a ? kPointN : kPointM);
    const PointPtr blind = in.times(in.password.get(), fixed.get());
    must(EC_POINT_invert(in.group.get(), blind.get(), in.context.get()) == 1);
    const PointPtr shared = in.times(in.secret.get(), in.sum(theirs.get(), blind.get()).get());
    if (EC_POINT_is_at_infinity(in.group.get(), shared.get()) == 1) {
        return fail(ErrorCode::protocol, "the key message of the other end leads to no key");
    }
    SecretBytes<kMessageBytes> encoded;
    in.write(shared.get(), encoded.bytes());
    derive(peer, encoded.bytes());
    stage_.enter(Stage::agreed);
    return {};
}

void Spake2::derive(std::span<const std::byte> peer, std::span<const std::byte> shared) {
    const bool is_a = setup_.party == Party::a;
    const std::span<const std::byte> own = message_;
    const Secret32 password = bytes_of(curve_->password.get());
    std::vector<std::byte> transcript;
    transcript.reserve(512 + setup_.identity_a.size() + setup_.identity_b.size());  // so that no copy stays behind
    append_with_length(transcript, as_bytes_of(setup_.identity_a));
    append_with_length(transcript, as_bytes_of(setup_.identity_b));
    append_with_length(transcript, is_a ? own : peer);
    append_with_length(transcript, is_a ? peer : own);
    append_with_length(transcript, shared);
    append_with_length(transcript, password.bytes());
    // Section 4: Ke || Ka = Hash(TT), KcA || KcB = KDF(Ka, nil, "ConfirmationKeys" || AAD).
    const Secret32 keys = sha256(transcript);
    Secret32 of_confirmations;
    hkdf_sha256(keys.bytes().last<16>(), as_bytes_of(kConfirmationInfo + setup_.additional), of_confirmations.bytes());
    const Digest by_a = hmac_sha256(of_confirmations.bytes().first<16>(), transcript);
    const Digest by_b = hmac_sha256(of_confirmations.bytes().last<16>(), transcript);
    own_confirmation_ = is_a ? by_a : by_b;
    peer_confirmation_ = is_a ? by_b : by_a;
    hkdf_sha256(keys.bytes().first<16>(), as_bytes_of(kKeyInfo), agreed_key_.bytes());
    wipe(transcript);
}

Result<void> Spake2::on_confirmation(std::span<const std::byte> peer) {
    if (stage_ != Stage::agreed) {
        return fail(ErrorCode::protocol, "a confirmation of the other end came out of order");
    }
    if (!equal_secrets(peer, peer_confirmation_)) {
        return fail(ErrorCode::authentication, "the other end used a different code");
    }
    key_ = agreed_key_;
    stage_.enter(Stage::confirmed);
    return {};
}

}  // namespace udtx::apps
