// Part of the static program. By default, glibc loads the modules that /etc/nsswitch.conf names to look up hosts. If they
// belong to another version of glibc, the program crashes. This function limits lookups to files and DNS.

extern int __nss_configure_lookup(const char *database, const char *services);

__attribute__((constructor)) static void configure(void) {
    __nss_configure_lookup("hosts", "files dns");
}
