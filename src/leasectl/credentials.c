/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <grpc/grpc_security.h>

#include "leasectl/credentials.h"

enum { PEM_MOST = 1 << 20 };

/* The whole of a regular file as text, at most `size` - 1 bytes; -1 with errno. */
static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;

	if (fd < 0)
		return -1;
	while ((got = read(fd, text + used, size - used)) > 0 || (got < 0 && errno == EINTR)) {
		used += got > 0 ? (size_t)got : 0;
		if (used == size) {
			errno = EFBIG;
			got = -1;
			break;
		}
	}
	if (got < 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	close(fd);
	text[used] = 0;
	return (ssize_t)used;
}

static void warn_of_mode(const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 077))
		fprintf(stderr, "leasectl: warning: others may read the token file %s\n", path);
}

/* A header value: visible ASCII. Anything else would be refused far from here. */
static bool plain(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

bool credentials_token(const char *path, char token[CLIENT_TOKEN], char why[CLIENT_WHY])
{
	char text[CLIENT_TOKEN], *from = text, *zero;
	ssize_t len;

	*token = 0;
	if (!path)
		return true;
	len = read_file(path, text, sizeof text);
	if (len < 0) {
		snprintf(why, CLIENT_WHY, "cannot read the token file %s: %s", path,
			 strerror(errno));
		return false;
	}
	if (!strncmp(text, "\xEF\xBB\xBF", 3))
		from += 3;
	zero = memchr(text, 0, (size_t)len);
	from += strspn(from, " \t\r\n");
	for (char *end = from + strlen(from); end > from && isspace((unsigned char)end[-1]); end--)
		end[-1] = 0;
	if (!*from || !plain(from) || zero) {
		snprintf(why, CLIENT_WHY, "the token file %s %s", path,
			 *from ? "holds more than one token" : "is empty");
		return false;
	}
	warn_of_mode(path);
	snprintf(token, CLIENT_TOKEN, "%s", from);
	explicit_bzero(text, sizeof text);
	return true;
}

static char *pem(const char *path, char why[CLIENT_WHY])
{
	char *text = malloc(PEM_MOST);

	if (text && read_file(path, text, PEM_MOST) >= 0)
		return text;
	snprintf(why, CLIENT_WHY, "cannot read %s: %s", path, strerror(errno));
	free(text);
	return NULL;
}

static grpc_channel_credentials *tls(const struct client_config *config, char why[CLIENT_WHY])
{
	grpc_ssl_pem_key_cert_pair pair = {NULL, NULL};
	grpc_channel_credentials *made = NULL;
	char *ca = pem(config->ca_file, why), *cert = NULL, *key = NULL;
	bool own = config->cert_file && config->key_file;

	if (ca && own) {
		cert = pem(config->cert_file, why);
		key = cert ? pem(config->key_file, why) : NULL;
		pair = (grpc_ssl_pem_key_cert_pair){key, cert};
	}
	if (ca && (!own || key)) {
		made = grpc_ssl_credentials_create(ca, own ? &pair : NULL, NULL, NULL);
		if (!made)
			snprintf(why, CLIENT_WHY, "%s holds no usable certificates",
				 config->ca_file);
	}
	free(ca);
	free(cert);
	free(key);
	return made;
}

grpc_channel_credentials *credentials_make(const struct client_config *config, char why[CLIENT_WHY])
{
	return config->ca_file ? tls(config, why) : grpc_insecure_credentials_create();
}
