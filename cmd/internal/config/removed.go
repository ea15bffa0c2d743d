package config

import "strings"

// oldDefaults are the defaults of settings of earlier versions that are not accepted any more. Unless replacedSettings names another one, the
// value is fixed now, see docs/reference/limits.md.
var oldDefaults = splitDefaults(`
	callback-answer-bytes=64KiB callback-concurrency=64 callback-give-up=10m0s callback-queue=100000 callback-timeout=10s
	callback-tries=5 callback-validation-timeout=3s connect-timeout=5s delivery-at-once=4 delivery-concurrency=128
	delivery-longest-pause=1m0s delivery-longest-wait=1h0m0s delivery-queue=10000 idempotency-answers=200000 console-idle=8h0m0s
	delivery-give-up=24h0m0s delivery-timeout=10s idempotency-keep=24h0m0s limit-batch=10000 limit-body-memory=128MiB
	limit-change-bytes=64MiB limit-client-connections=0 limit-connections=0 limit-event-bytes=24MiB limit-inline-bytes=256KiB
	limit-json-bytes=16MiB limit-profile-bytes=1MiB limit-read-rate=8KiB limit-read-time=30s limit-requests=2048
	limit-secret-bytes=256KiB limit-service-connections=0 limit-write-time=30s mqtt-connections=64 mqtt-idle-time=1m0s
	replay-concurrency=4 replay-limit=100000 replay-time=5s replay-wait=2s rest-idle-connections=64 shutdown-timeout=10s
	tap-connections=64 tap-memory=64MiB zeromq-all-queue-bytes=64MiB zeromq-all-topic-bytes=16MiB zeromq-handshake-time=5s
	zeromq-linger=1s zeromq-max-frame=64KiB zeromq-peers=2048 zeromq-peers-per-address=256 zeromq-queue-bytes=8MiB
	zeromq-queue-messages=1000 zeromq-sockets=64 zeromq-stall-time=30s zeromq-subscribers=1024 zeromq-topic-bytes=2MiB
	zeromq-topics=16384

	sync=group disk-readings-reserve=256MiB hide-answers=127.0.0.0/8,::1 jwt-jwks= limit-resource-bytes=256MiB
	loopback-role=operator name-server= outgoing-ca= readings-check-state=true secret-key-file= secret-uses= smtp-host=
	smtp-port=587 smtp-sender= smtp-secret-path=smtp smtp-skip-verify=false smtp-tls=mandatory strict-profile-changes=false
	metadata-host=127.0.0.1 data-host=127.0.0.1 command-host=127.0.0.1 device-rest-host=127.0.0.1
	notifications-host=127.0.0.1 pprof=false log-format=auto events-max-age=0s redis-port=-1 mqtt-port=-1 console-host=127.0.0.1
	strict-profile-deletes=false tap-host=127.0.0.1 tap-port=4222 validate-units=false`)

// splitDefaults splits a text of settings with their defaults, which have no space.
func splitDefaults(text string) map[string]string {
	defaults := map[string]string{"smtp-subject": "Ledge notification"} // which has a space
	for one := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(one, "=")
		defaults[name] = value
	}
	return defaults
}

// hadDefault reports whether a setting of earlier versions has the value that was its default: it sets nothing.
func hadDefault(name, value string) bool {
	old, ok := oldDefaults[name]
	return ok && old == value
}

// replacedSettings are settings of earlier versions, with what to use instead.
var replacedSettings = map[string]string{
	"sync":                   "all changes that wait share one fsync. Leave it out",
	"disk-readings-reserve":  "it is four times disk-reserve. Leave it out",
	"metadata-host":          "use host, or metadata-port with an address, such as 127.0.0.1:59881",
	"data-host":              "use host, or data-port with an address, such as 127.0.0.1:59880",
	"command-host":           "use host, or command-port with an address, such as 127.0.0.1:59882",
	"device-rest-host":       "use host, or device-rest-port with an address, such as 127.0.0.1:59986",
	"notifications-host":     "use host, or notifications-port with an address, such as 127.0.0.1:59860",
	"console-host":           "use host, or console-port with an address, such as 127.0.0.1:9090",
	"events-max-age":         "changes are archived by size: use events-max-bytes or max-bytes",
	"hide-answers":           "answers of this machine are shown as a status only. Leave it out",
	"jwt-jwks":               "the keys of jwt-issuer are found by OpenID Connect discovery. Leave it out",
	"limit-resource-bytes":   "it is 256 MiB; give a resource the attribute maxBodyBytes for another limit",
	"log-format":             "the log is text on a terminal and in the journal of systemd, and JSON elsewhere. Leave it out",
	"loopback-role":          "use loopback with the role, such as loopback=operator",
	"mqtt-port":              "use edgex-bus, such as mqtt:1883",
	"redis-port":             "use edgex-bus, such as redis:6379",
	"name-server":            "the name servers of this machine are used. Leave it out",
	"outgoing-ca":            "use the environment variable SSL_CERT_DIR on Linux, or the certificate store of the system",
	"pprof":                  "Go's profiles are at admin.sock in the data folder, see docs/monitoring.md. Leave it out",
	"readings-check-state":   "values for LOCKED devices and for write-only resources are always refused. Leave it out",
	"secret-key-file":        "name the file ledge-secret-key and put it into the folder $CREDENTIALS_DIRECTORY",
	"secret-uses":            "post the secret again with allowedUses",
	"smtp-host":              "use smtp-server, such as smtp://mail.example.org:587?from=ledge@example.org",
	"smtp-port":              "use smtp-server, such as smtp://mail.example.org:587?from=ledge@example.org",
	"smtp-secret-path":       "the login is the secret smtp, and without that secret there is no login. Leave it out",
	"smtp-sender":            "use the parameter from of smtp-server, such as smtp://mail.example.org:587?from=ledge@example.org",
	"smtp-skip-verify":       "trust the CA of the mail server instead, with SSL_CERT_DIR on Linux",
	"smtp-subject":           "it says what happened. Leave it out",
	"smtp-tls":               "use the scheme of smtp-server: smtp, smtps or smtp+plain",
	"strict-profile-changes": "use strict-profiles=changes",
	"strict-profile-deletes": "use strict-profiles=deletes",
	"tap-host":               "use nats-host",
	"tap-port":               "use nats-port",
	"tls-min-version":        "TLS 1.2 and 1.3 are accepted. Leave it out",
	"validate-units":         "units-file turns it on",
}

// removedSetting says why a setting of an earlier version is refused; "" for a name that never was a setting.
func removedSetting(name string) string {
	if cure := replacedSettings[name]; cure != "" {
		return "; it was removed: " + cure
	}
	if _, fixed := oldDefaults[name]; fixed {
		return "; it was removed: its value is fixed, see docs/reference/limits.md. Leave it out"
	}
	return ""
}
