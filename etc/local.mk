# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += etc/leased.yaml
bashcompletiondir = $(datadir)/bash-completion/completions
EXTRA_DIST += etc/leasectl.bash-completion
install-data-hook:
	$(MKDIR_P) $(DESTDIR)$(bashcompletiondir)
	$(INSTALL_DATA) $(srcdir)/etc/leasectl.bash-completion $(DESTDIR)$(bashcompletiondir)/leasectl
uninstall-hook:
	rm -f $(DESTDIR)$(bashcompletiondir)/leasectl
EXTRA_DIST += etc/tokens.yaml etc/apparmor.d/leased

# The Debian packages, made from a release tarball as anybody else would make them; deb/ gets them.
# The tests have been run by ./check: they run again only with an own DEB_BUILD_OPTIONS.
.PHONY: deb
deb: dist-xz
	@rm -rf deb && $(MKDIR_P) deb
	@tar -C deb -xf $(distdir).tar.xz
	@cp -r $(srcdir)/debian deb/$(distdir)/
	@cd deb/$(distdir) && rm -rf Makefile.in aclocal.m4 build-aux config.h.in configure
	cd deb/$(distdir) && PATH=/usr/sbin:/usr/bin:/sbin:/bin DEB_BUILD_OPTIONS="$${DEB_BUILD_OPTIONS-nocheck}" \
		DEB_BUILD_PROFILES="$${DEB_BUILD_PROFILES-nocheck}" dpkg-buildpackage -us -uc
clean-local:
	rm -rf deb
