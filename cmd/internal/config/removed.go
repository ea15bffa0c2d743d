package config

import (
	"slices"
	"strings"
)

// fixedSettings are settings of earlier versions whose values are fixed now. docs/reference/limits.md has the values.
var fixedSettings = strings.Fields(`
	callback-answer-bytes callback-concurrency callback-give-up callback-queue callback-timeout callback-tries callback-validation-timeout
	connect-timeout delivery-at-once delivery-concurrency delivery-longest-pause delivery-longest-wait delivery-queue idempotency-answers
	console-idle delivery-give-up delivery-timeout idempotency-keep
	limit-batch limit-body-memory limit-change-bytes limit-client-connections limit-connections limit-event-bytes
	limit-inline-bytes limit-json-bytes limit-profile-bytes limit-read-rate limit-read-time limit-requests limit-secret-bytes
	limit-service-connections limit-write-time mqtt-connections mqtt-idle-time replay-concurrency replay-limit replay-time replay-wait rest-idle-connections
	shutdown-timeout tap-connections tap-memory zeromq-all-queue-bytes zeromq-all-topic-bytes zeromq-handshake-time zeromq-linger
	zeromq-max-frame zeromq-peers zeromq-peers-per-address zeromq-queue-bytes zeromq-queue-messages zeromq-sockets zeromq-stall-time
	zeromq-subscribers zeromq-topic-bytes zeromq-topics`)

// replacedSettings are settings of earlier versions, with what to use instead.
var replacedSettings = map[string]string{
	"sync":                   "all changes that wait share one fsync. Leave it out",
	"disk-readings-reserve":  "it is four times disk-reserve. Leave it out",
	"hide-answers":           "answers of this machine are shown as a status only. Leave it out",
	"jwt-jwks":               "the keys of jwt-issuer are found by OpenID Connect discovery. Leave it out",
	"limit-resource-bytes":   "it is 256 MiB; give a resource the attribute maxBodyBytes for another limit",
	"loopback-role":          "use loopback with the role, such as loopback=operator",
	"name-server":            "the name servers of this machine are used. Leave it out",
	"outgoing-ca":            "use the environment variable SSL_CERT_DIR on Linux, or the certificate store of the system",
	"readings-check-state":   "values for LOCKED devices and for write-only resources are always refused. Leave it out",
	"secret-key-file":        "name the file ledge-secret-key and put it into the folder $CREDENTIALS_DIRECTORY",
	"secret-uses":            "post the secret again with allowedUses",
	"smtp-host":              "use smtp-server, such as smtp://mail.example.org:587",
	"smtp-port":              "use smtp-server, such as smtp://mail.example.org:587",
	"smtp-secret-path":       "the login is the secret smtp, and without that secret there is no login. Leave it out",
	"smtp-skip-verify":       "trust the CA of the mail server instead, with SSL_CERT_DIR on Linux",
	"smtp-subject":           "it is \"Ledge notification\". Leave it out",
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
	if slices.Contains(fixedSettings, name) {
		return "; it was removed: its value is fixed, see docs/reference/limits.md. Leave it out"
	}
	return ""
}
