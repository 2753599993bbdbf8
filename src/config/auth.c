/* SPDX-License-Identifier: Apache-2.0
 *
 * auth: which tokens count. Whatever is wrong here is an error and never an open server. */
#include <string.h>

#include <sodium.h>

#include "config/reader.h"

enum { KEYS_MAX = 32, KEY_BYTES = 32, KEY_DIGITS = 64 };

static const struct option_spec algorithm_spec = {
    "alg",
    OPTION_CHOICE,
    {.number = CHOICE_UNSET},
    0,
    0,
    (const char *const[]){"RS256", "ES256", "HS256", NULL}};

static void add_key(struct reader *reader, const struct node *node, const char *path,
		    const struct auth_key *key)
{
	struct auth_settings *auth = &reader->config->settings.auth;
	const struct verifier *verifier = reader->config->input.verifier;
	const char *wrong = verifier ? verifier->key_wrong(key) : NULL;

	if (wrong)
		reader_error(reader, node, NULL, "%s: the key %s", path, wrong);
	else if (auth->key_count == KEYS_MAX)
		reader_error(reader, node, NULL, "%s: more than %d keys", path, KEYS_MAX);
	else
		((struct auth_key *)(uintptr_t)auth->key)[auth->key_count++] = *key;
}

static void read_paseto_key(struct reader *reader, const struct node *node, const char *path)
{
	struct auth_key key = {.algorithm = AUTH_V4_PUBLIC};
	uint8_t *bytes = reader_memory(reader, KEY_BYTES, 1);
	size_t len;

	if (!bytes || !reader_text(reader, node, path))
		return;
	if (sodium_hex2bin(bytes, KEY_BYTES, node->text, node->len, NULL, &len, NULL) != 0 ||
	    len != KEY_BYTES || node->len != KEY_DIGITS) {
		reader_error(reader, node, NULL, "%s: a public key is 64 hexadecimal digits", path);
		return;
	}
	key.data = (struct bytes){bytes, KEY_BYTES};
	add_key(reader, node, path, &key);
}

static void read_paseto(struct reader *reader)
{
	static const char many[] = "auth.paseto.public_key_hexes";
	const struct node *list = reader->paseto_keys;

	if (reader->paseto_key)
		read_paseto_key(reader, reader->paseto_key, "auth.paseto.public_key_hex");
	if (list && list->kind != NODE_LIST)
		reader_error(reader, list, NULL, "%s must be a list", many);
	else if (list)
		for (const struct node *node = list->first; node; node = node->next)
			read_paseto_key(reader, node, many);
}

static void read_jwt_key(struct reader *reader, const struct node *map, size_t index)
{
	static const char *const names[] = {"alg", "file", NULL};
	static const enum auth_algorithm algorithms[] = {AUTH_RS256, AUTH_ES256, AUTH_HS256};
	struct config *config = reader->config;
	union option_value algorithm;
	const struct node *found[2];
	char path[PATH_SIZE], below[PATH_SIZE];
	struct auth_key key;

	snprintf(path, sizeof path, "auth.jwt.keys[%zu]", index);
	if (!reader_fields(reader, map, path, names, found))
		return;
	if (!found[0] || !found[1]) {
		reader_error(reader, map, NULL, "%s needs an alg and a file", path);
		return;
	}
	reader_path(below, path, "alg");
	if (!reader_value(reader, found[0], below, &algorithm_spec, &algorithm))
		return;
	reader_path(below, path, "file");
	if (!reader_text(reader, found[1], below) ||
	    !attached_read(reader, found[1], below, &key.data))
		return;
	key.algorithm = algorithms[algorithm.number];
	if (index < KEYS_MAX)
		config->jwt_key[config->settings.auth.key_count] =
		    (struct key_source){found[0]->text, found[1]->text};
	add_key(reader, found[1], below, &key);
}

static void read_jwt(struct reader *reader)
{
	const struct node *list = reader->jwt_keys;
	size_t index = 0;

	reader->config->jwt_key =
	    reader_memory(reader, KEYS_MAX + 1, sizeof *reader->config->jwt_key);
	if (!list || !reader->config->jwt_key)
		return;
	if (list->kind != NODE_LIST) {
		reader_error(reader, list, NULL, "auth.jwt.keys must be a list");
		return;
	}
	for (const struct node *map = list->first; map; map = map->next)
		read_jwt_key(reader, map, index++);
}

static void read_tokens(struct reader *reader)
{
	const struct node *node = reader->value[VALUE_TOKENS_FILE];
	struct bytes text;
	unsigned wrong;

	if (!node)
		return;
	if (!attached_read(reader, node, "auth.tokens_file", &text))
		return;
	wrong = tokens_read(reader, node->text, text);
	if (wrong)
		reader_error(reader, node, NULL, "auth.tokens_file: %s is refused", node->text);
}

/* A key of another format was meant to count, and would not. */
static void refuse_idle(struct reader *reader, enum auth_format format)
{
	const struct {
		const struct node *node;
		enum auth_format format;
		const char *name;
	} keys[] = {
	    {reader->value[VALUE_TOKENS_FILE], AUTH_TOKENS, "tokens_file"},
	    {reader->paseto_key, AUTH_PASETO, "paseto.public_key_hex"},
	    {reader->paseto_keys, AUTH_PASETO, "paseto.public_key_hexes"},
	    {reader->jwt_keys, AUTH_JWT, "jwt.keys"},
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (keys[i].node && keys[i].format != format)
			reader_error(reader, keys[i].node->key, NULL, "auth.%s has no effect %s",
				     keys[i].name,
				     format == AUTH_UNSET ? "without auth.verifier"
							  : "with this auth.verifier");
}

static void require_some(struct reader *reader, bool some, const char *what)
{
	if (!some && reader->report.count == 0)
		reader_error(reader, reader->value[VALUE_VERIFIER], NULL,
			     "auth.verifier: %s is needed", what);
}

void auth_read(struct reader *reader)
{
	struct auth_settings *auth = &reader->config->settings.auth;
	int64_t choice = reader->config->value[VALUE_VERIFIER].number;

	auth->format = (enum auth_format)(choice == CHOICE_UNSET ? 0 : choice + 1);
	auth->key = reader_memory(reader, KEYS_MAX, sizeof *auth->key);
	if (!auth->key)
		return;
	refuse_idle(reader, auth->format);
	if (auth->format < AUTH_TOKENS)
		return;
	auth->verifier = reader->config->input.verifier;
	if (auth->format == AUTH_TOKENS)
		read_tokens(reader);
	else if (auth->format == AUTH_PASETO)
		read_paseto(reader);
	else
		read_jwt(reader);
	require_some(reader, auth->format != AUTH_TOKENS || reader->value[VALUE_TOKENS_FILE],
		     "auth.tokens_file");
	require_some(reader, auth->format != AUTH_PASETO || auth->key_count,
		     "auth.paseto.public_key_hexes");
	require_some(reader, auth->format != AUTH_JWT || auth->key_count, "auth.jwt.keys");
}
