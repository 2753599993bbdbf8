/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens without a server: the published vectors of PASETO version 4, forgeries, claims, scopes. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <sodium.h>

#include "auth/claims.h"
#include "auth/paseto.h"
#include "auth/verifier.h"
#include "base/clock.h"

#define NOW INT64_C(1800000000000000) /* 2027 */
#define MESSAGE                                                                                    \
	"eyJkYXRhIjoidGhpcyBpcyBhIHNpZ25lZCBtZXNzYWdlIiwiZXhwIjoiMjAyMi0wMS0wMVQwMDowMDowMCswMDow" \
	"MCJ9"
#define KID	 "eyJraWQiOiJ6VmhNaVBCUDlmUmYyc25FY1Q3Z0ZUaW9lQTlDT2NOeTlEZmdMMVc2MGhhTiJ9"
#define KID_JSON "{\"kid\":\"zVhMiPBP9fRf2snEcT7gFTioeA9COcNy9DfgL1W60haN\"}"

static const char secret_hex[] = "b4cbfb43df4ce210727d953e4a713307fa19bb7d9f85041438d9e11b942a3774"
				 "1eb9dbbbbc047c03fd70604e0071f0987e16b28b757225c11f00415d0e20b1a2";
static const char payload[] =
    "{\"data\":\"this is a signed message\",\"exp\":\"2022-01-01T00:00:00+00:00\"}";

static const struct {
	const char *token, *footer, *implicit;
} vectors[] = {
    {"v4.public." MESSAGE "bg_XBBzds8lTZShVlwwKSgeKpLT3yukTw6JUz3W4h_ExsQV-P0V54zemZDcAxFaSeef1QlXE"
     "FtkqxT1ciiQEDA",
     "", ""},
    {"v4.public." MESSAGE "v3Jt8mx_TdM2ceTGoqwrh4yDFn0XsHvvV_D0DtwQxVrJEBMl0F2caAdgnpKlt4p7xBnx1HcO"
     "-SPo8FPp214HDw." KID,
     KID_JSON, ""},
    {"v4.public." MESSAGE "NPWciuD3d0o5eXJXG5pJy-DiVEoyPYWs1YSTwWHNJq6DZD3je5gf-0M4JR9ipdUSJbIovzmB"
     "ECeaWmaqcaP0DQ." KID,
     KID_JSON, "{\"test-vector\":\"4-S-3\"}"},
};

static uint8_t secret_key[PASETO_SECRET];
static struct arena arena;

static void set_up(void)
{
	cr_assert(sodium_init() >= 0);
	cr_assert(sodium_hex2bin(secret_key, sizeof secret_key, secret_hex, strlen(secret_hex),
				 NULL, NULL, NULL) == 0);
	arena_init(&arena);
}

static void tear_down(void)
{
	arena_reset(&arena);
}

TestSuite(auth, .init = set_up, .fini = tear_down);

Test(auth, published_vectors_verify_and_are_made_again)
{
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		const struct paseto_extra extra = {bytes_of(vectors[i].footer),
						   bytes_of(vectors[i].implicit)};
		struct paseto paseto;

		cr_assert(paseto_parse(&arena, bytes_of(vectors[i].token), &paseto), "%zu", i);
		cr_assert(bytes_equal(paseto.message, bytes_of(payload)), "%zu", i);
		cr_assert(bytes_equal(paseto.footer, extra.footer), "%zu", i);
		cr_assert(paseto_verify(&arena, &paseto, secret_key + 32, extra.implicit), "%zu",
			  i);
		cr_assert_not(paseto_verify(&arena, &paseto, secret_key + 32, bytes_of("x")));
		cr_assert_not(paseto_verify(&arena, &paseto, secret_key, extra.implicit));
		cr_assert_str_eq(paseto_sign(&arena, secret_key, bytes_of(payload), &extra),
				 vectors[i].token);
	}
}

Test(auth, what_is_no_public_token_is_refused)
{
	static const char *const bad[] = {"",
					  "v",
					  "v4.public.",
					  "v4.public",
					  "v4.public.AA",
					  "v4.local." MESSAGE,
					  "v3.public." MESSAGE,
					  "v4.PUBLIC." MESSAGE,
					  "v4.public." MESSAGE "=",
					  "v4.public..",
					  "v4.public." MESSAGE " ",
					  "v4.public." MESSAGE "\n",
					  "v4.public." MESSAGE "/+/+",
					  "v4.public." MESSAGE ".",
					  "v4.public." MESSAGE ".AA.AA"};
	struct paseto paseto;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_assert_not(paseto_parse(&arena, bytes_of(bad[i]), &paseto), "%zu", i);
}

/* Every single character changed, and every cut: never accepted. */
Test(auth, no_change_of_a_token_is_accepted)
{
	const char *good = vectors[1].token;
	size_t len = strlen(good);
	char text[512];
	struct paseto paseto;

	for (size_t i = 0; i < len; i++) {
		arena_reset(&arena);
		memcpy(text, good, len + 1);
		text[i] = text[i] == 'A' ? 'B' : 'A';
		cr_assert_not(paseto_parse(&arena, bytes_of(text), &paseto) &&
				  paseto_verify(&arena, &paseto, secret_key + 32, bytes_of("")),
			      "character %zu", i);
		cr_assert_not(
		    paseto_parse(&arena, (struct bytes){(const uint8_t *)good, i}, &paseto) &&
			paseto_verify(&arena, &paseto, secret_key + 32, bytes_of("")),
		    "cut at %zu", i);
	}
}

static void claims(const char *json, enum claims_time times, const char *wrong)
{
	struct capability capability;
	const char *why = NULL;
	enum err err = claims_read(&arena, bytes_of(json), times, &capability, &why);

	if (wrong) {
		cr_assert_eq(err, ERR_TOKEN_INVALID, "%s", json);
		cr_assert_str_eq(why, wrong, "%s", json);
	} else {
		cr_assert_eq(err, ERR_OK, "%s: %s", json, why);
	}
}

#define BASE "\"iss\":\"mindd\",\"tenant\":\"t\",\"ops\":[\"*\"],\"namespaces\":[\"*\"]"

Test(auth, claims_must_be_whole_and_of_their_type)
{
	static const char no_exp[] = "it has no valid exp";

	claims("{" BASE ",\"exp\":1900000000}", CLAIMS_NUMBER, NULL);
	claims("{" BASE ",\"exp\":1900000000.5,\"nbf\":0}", CLAIMS_NUMBER, NULL);
	claims("{" BASE ",\"exp\":\"2030-01-01T00:00:00Z\"}", CLAIMS_TEXT, NULL);
	claims("{" BASE ",\"exp\":\"2030-01-01T00:00:00.123+02:00\"}", CLAIMS_TEXT, NULL);
	claims("{" BASE "}", CLAIMS_NUMBER, no_exp);
	claims("{" BASE ",\"exp\":\"1900000000\"}", CLAIMS_NUMBER, no_exp);
	claims("{" BASE ",\"exp\":9223372036854775807}", CLAIMS_NUMBER, no_exp);
	claims("{" BASE ",\"exp\":-1}", CLAIMS_NUMBER, no_exp);
	claims("{" BASE ",\"exp\":1e300}", CLAIMS_NUMBER, no_exp);
	claims("{" BASE ",\"exp\":true}", CLAIMS_NUMBER, no_exp);
	claims("{" BASE ",\"exp\":1900000000}", CLAIMS_TEXT, no_exp);
	claims("{" BASE ",\"exp\":\"2030-01-01\"}", CLAIMS_TEXT, no_exp);
	claims("{" BASE ",\"exp\":\"2030-01-01T00:00:00\"}", CLAIMS_TEXT, no_exp);
	claims("{" BASE ",\"exp\":\"2030-13-01T00:00:00Z\"}", CLAIMS_TEXT, no_exp);
	claims("{" BASE ",\"exp\":1900000000,\"nbf\":\"x\"}", CLAIMS_NUMBER,
	       "its nbf is not valid");
	claims("{" BASE ",\"exp\":1900000000,\"exp\":1900000001}", CLAIMS_NUMBER,
	       "its claims are no JSON object");
	claims("[]", CLAIMS_NUMBER, "its claims are no JSON object");
	claims("{}{}", CLAIMS_NUMBER, "its claims are no JSON object");
	claims("{}", CLAIMS_NUMBER, "its issuer is not mindd");
	claims("{\"iss\":\"mindd\"}", CLAIMS_NUMBER,
	       "it has no tenant, or one that holds a '/' or is too long");
	claims("{\"iss\":\"mindd\",\"tenant\":\"a/b\"}", CLAIMS_NUMBER,
	       "it has no tenant, or one that holds a '/' or is too long");
	claims("{\"iss\":\"mindd\",\"tenant\":\"t\",\"exp\":1}", CLAIMS_NUMBER,
	       "it has no list of ops");
	claims("{\"iss\":\"mindd\",\"tenant\":\"t\",\"exp\":1,\"ops\":[\"*\"]}", CLAIMS_NUMBER,
	       "it has no list of namespaces");
}

Test(auth, times_are_read_in_any_zone)
{
	int64_t us;

	cr_assert(claims_time_parse("2022-01-01T00:00:00Z", &us));
	cr_assert_eq(us, INT64_C(1640995200000000));
	cr_assert(claims_time_parse("2022-01-01T02:30:00+02:30", &us));
	cr_assert_eq(us, INT64_C(1640995200000000));
	cr_assert(claims_time_parse("2021-12-31T23:00:00.999-01:00", &us));
	cr_assert_eq(us, INT64_C(1640995200000000));
	cr_assert_not(claims_time_parse("2022-01-01T00:00:00Zx", &us));
	cr_assert_not(claims_time_parse("+022-01-01T00:00:00Z", &us));
}

Test(auth, patterns_match_whole_names_or_one_trailing_star)
{
	static const struct {
		const char *pattern, *name;
		bool allowed;
	} cases[] = {
	    {"*", "locks", true},
	    {"l*", "locks", true},
	    {"lease/*", "locks", true},
	    {"lease/locks", "locks", true},
	    {"lease/lo*", "locks", true},
	    {"lease/lock", "locks", false},
	    {"lease/locks*", "locks", true},
	    {"lease/locksmith", "locks", false},
	    {"locks", "locks", false},
	    {"lease", "locks", false},
	    {"lease/", "locks", false},
	    {"kv/*", "locks", false},
	    {"", "locks", false},
	    {"lease/l*s", "locks", false},
	    {"lease/*", "*", true},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bytes pattern = bytes_of(cases[i].pattern);
		struct capability_grant grant = {CAPABILITY_ALL, &pattern, 1, NULL, 0, 0};
		struct capability capability = {.grant = &grant, .grant_count = 1};
		struct op op = {.kind = OP_INSPECT, .arena = &arena};

		op.request.name_space = bytes_of(cases[i].name);
		op.request.key = bytes_of("k");
		cr_assert_eq(capability_allow(&capability, &op) == ERR_OK, cases[i].allowed, "%s",
			     cases[i].pattern);
	}
}

/* --- the verifier as a whole --- */

static enum err try(struct verifier_state *state, const char *token, const char **why)
{
	const struct capability *capability;

	*why = NULL;
	return auth_verifier.verify(state, bytes_of(token), NOW, &capability, why);
}

static const char *mint(const char *json)
{
	return paseto_sign(&arena, secret_key, bytes_of(json), &(struct paseto_extra){0});
}

Test(auth, several_public_keys_count_and_verified_tokens_are_kept)
{
	uint8_t other_public[PASETO_PUBLIC], other_secret[PASETO_SECRET];
	struct auth_key keys[2] = {{AUTH_V4_PUBLIC, {other_public, PASETO_PUBLIC}},
				   {AUTH_V4_PUBLIC, {secret_key + 32, PASETO_PUBLIC}}};
	struct auth_settings auth = {AUTH_PASETO, &auth_verifier, NULL, 0, keys, 2};
	struct verifier_state *state;
	const char *good, *why;

	crypto_sign_keypair(other_public, other_secret);
	state = auth_verifier.open(&auth);
	cr_assert(state);
	good = mint("{" BASE ",\"exp\":\"2030-01-01T00:00:00Z\"}");
	for (int i = 0; i < 3; i++)
		cr_assert_eq(try(state, good, &why), ERR_OK, "%s", why);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(try(state, mint("{" BASE ",\"exp\":\"2020-01-01T00:00:00Z\"}"), &why),
			     ERR_TOKEN_EXPIRED);
	cr_assert_eq(try(state,
			 mint("{" BASE ",\"exp\":\"2099-01-01T00:00:00Z\","
			      "\"nbf\":\"2098-01-01T00:00:00Z\"}"),
			 &why),
		     ERR_TOKEN_INVALID);
	cr_assert_str_eq(why, "it is not valid yet");
	/* More than there is room for: each is judged right all the same. */
	for (int i = 0; i < 5000; i++) {
		char json[256];

		snprintf(json, sizeof json,
			 "{" BASE ",\"jti\":\"%d\",\"exp\":\"2030-01-01T00:00:00Z\"}", i);
		cr_assert_eq(try(state, mint(json), &why), ERR_OK);
		arena_reset(&arena);
	}
	cr_assert_eq(try(state, vectors[2].token, &why), ERR_TOKEN_INVALID);
	auth_verifier.close(state);
	auth.key_count = 1; /* only the other key: what was good is good no more */
	state = auth_verifier.open(&auth);
	cr_assert_eq(try(state, mint("{" BASE ",\"exp\":\"2030-01-01T00:00:00Z\"}"), &why),
		     ERR_TOKEN_INVALID);
	cr_assert_str_eq(why, "its signature is not by a key that is known here");
	auth_verifier.close(state);
}

Test(auth, a_key_that_is_none_is_refused)
{
	uint8_t zero[PASETO_PUBLIC] = {0};
	const struct auth_key bad[] = {
	    {AUTH_V4_PUBLIC, {zero, PASETO_PUBLIC}},
	    {AUTH_RS256,
	     bytes_of("{\"kty\":\"oct\",\"k\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}")},
	    {AUTH_HS256, bytes_of("{\"kty\":\"oct\",\"k\":\"c2hvcnQ\"}")},
	    {AUTH_HS256, bytes_of("{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}")},
	    {AUTH_ES256, bytes_of("-----BEGIN PUBLIC KEY-----")},
	    {AUTH_HS256, bytes_of("")},
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_assert(auth_verifier.key_wrong(&bad[i]), "%zu", i);
}
