package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"ledge/bridge/guard"
	"ledge/domain"
	"ledge/handlers"
	"ledge/store"
)

// Config is every setting. A setting has one name, in kebab case: "metadata-port" is the flag --metadata-port, the
// environment variable LEDGE_METADATA_PORT, and in the YAML file the key metadata-port, or port below metadata.
type Config struct {
	DataDir string

	MetadataHost, CoreDataHost, DeviceRESTHost, NotificationsHost, TapHost string
	MetadataPort, CoreDataPort, DeviceRESTPort, NotificationsPort, TapPort int
	TapConnections                                                         int
	TapMemory                                                              size

	AllowInsecure, Secure      bool
	Loopback, LoopbackRole     string
	TLSCert, TLSKey            string
	TLSClientCA, TLSMinVersion string
	AllowHosts, TrustedOrigins texts
	TrustedProxies             texts

	JWTIssuer, JWTJWKS, JWTAudience, JWTRoleClaim string

	LogLevel, LogFormat string
	Sync                string

	DiskReserve, DiskReadingsReserve                      size
	EventsMaxBytes                                        size
	EventsMaxAge                                          time.Duration
	ArchiveDir                                            string
	NotificationsMaxAge, ReadingsMaxAge                   time.Duration
	NotificationsMaxBytes, ReadingsMaxBytes               size
	LimitJSONBytes, LimitProfileBytes, LimitEventBytes    size
	ReadingsRetention                                     retentionRules
	LimitResourceBytes, LimitInlineBytes, LimitBodyMemory size
	LimitChangeBytes                                      size
	LimitSecretBytes, LimitReadRate                       size
	LimitBatch, LimitRequests                             int
	LimitConnections, LimitServiceConnections             int
	LimitClientConnections                                int
	LimitReadTime, LimitWriteTime, ShutdownTimeout        time.Duration
	StrictProfileChanges, StrictProfileDeletes            bool
	ReadingsCheckState                                    bool
	UnitsFile                                             string
	ValidateUnits                                         bool
	IdempotencyKeep                                       time.Duration
	IdempotencyAnswers                                    int
	AllowDestinations, DenyDestinations, AllowBinds       guard.Rules
	HideAnswers                                           guard.Rules
	NameServer, OutgoingCA                                string
	ConnectTimeout, MQTTIdleTime                          time.Duration
	RESTIdleConnections                                   int
	SMTPHost, SMTPSender, SMTPSubject, SMTPTLS            string
	SMTPSecretPath                                        string
	SMTPPort                                              int
	SMTPSkipVerify                                        bool
	SecretUses                                            secretUses
	SecretKeyFile                                         string
	MQTTConnections                                       int
	ZeroMQSockets, ZeroMQPeers, ZeroMQPeersPerAddress     int
	ZeroMQSubscribers, ZeroMQQueueMessages, ZeroMQTopics  int
	ZeroMQQueueBytes, ZeroMQAllQueueBytes, ZeroMQMaxFrame size
	ZeroMQTopicBytes, ZeroMQAllTopicBytes                 size
	ZeroMQHandshakeTime, ZeroMQStallTime, ZeroMQLinger    time.Duration
	ResendLimit                                           int
	ResendInterval                                        time.Duration
	DeliveryAtOnce, DeliveryConcurrency, DeliveryQueue    int
	DeliveryTimeout, DeliveryGiveUp                       time.Duration
	DeliveryLongestWait, DeliveryLongestPause             time.Duration
	ReplayLimit, ReplayConcurrency                        int
	ReplayTime, ReplayWait                                time.Duration
	CallbackTimeout, CallbackValidationTimeout            time.Duration
	CallbackGiveUp                                        time.Duration
	CallbackTries, CallbackQueue, CallbackConcurrency     int
	CallbackAnswerBytes                                   size

	tap       tapAccess             // how the tap knows its clients
	tapFiles  int                   // descriptors for the tap listener; 0 for a command that does not listen
	declared  *pflag.FlagSet        // what settings returned
	addresses map[string]netip.Addr // what findAddresses found, by setting
}

// settings declares every setting with its default and its documentation: the one place for both. None holds a secret:
// GET /api/v2/config shows them.
func (c *Config) settings() *pflag.FlagSet {
	f := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	c.declared = f
	f.StringVar(&c.DataDir, "data-dir", "./data", "folder of the log and of what is folded from it")

	f.StringVar(&c.MetadataHost, "metadata-host", "127.0.0.1", "address of the metadata service")
	f.IntVar(&c.MetadataPort, "metadata-port", 59881, "TCP port of the metadata service; 0 takes a free one")
	f.StringVar(&c.CoreDataHost, "data-host", "127.0.0.1", "address of the data service, which is EdgeX's core-data")
	f.IntVar(&c.CoreDataPort, "data-port", 59880, "TCP port of the data service; 0 takes a free one")
	f.StringVar(&c.DeviceRESTHost, "device-rest-host", "127.0.0.1", "address of the REST device service")
	f.IntVar(&c.DeviceRESTPort, "device-rest-port", 59986, "TCP port of the REST device service; 0 takes a free one")
	f.StringVar(&c.NotificationsHost, "notifications-host", "127.0.0.1", "address of the notifications service")
	f.IntVar(&c.NotificationsPort, "notifications-port", 59860, "TCP port of the notifications service; 0 takes a free one")
	f.StringVar(&c.TapHost, "tap-host", "127.0.0.1", "address of the NATS listener for taps; taps may read everything")
	f.IntVar(&c.TapPort, "tap-port", 4222, "TCP port of the NATS listener for taps; 0 takes a free one, -1 turns it off")
	f.IntVar(&c.TapConnections, "tap-connections", 64, "most connections of taps, half of them from one address; more are refused. A low limit of open files lowers it. Connections that read history, and connections of Ledge's own commands, are counted separately")
	f.Var(newSize(&c.TapMemory, 64<<20), "tap-memory", "bytes that wait in memory for all taps together, 34MiB or more. At the limit Ledge disconnects the slowest taps and drops live messages")
	f.BoolVar(&c.AllowInsecure, "allow-insecure", false, "allow the settings of addresses above to name addresses that are not loopback addresses. Every machine that reaches such an address reads everything and, except through the tap, changes everything, without a login")

	f.BoolVar(&c.Secure, "secure", false, "take only TLS and known identities at all HTTP services and the tap; the settings of addresses above that are not set are then 0.0.0.0, which is all addresses of this machine")
	f.StringVar(&c.Loopback, "loopback", "secure", "what connections from 127.0.0.1 to 127.0.0.1 need with secure: secure for TLS and a login as everywhere, open to take plain HTTP without a login too, such as from EdgeX services on this machine")
	f.StringVar(&c.LoopbackRole, "loopback-role", string(domain.Operator), "role of requests over plain HTTP that loopback lets in: viewer, poster, operator, auditor or admin")
	f.StringVar(&c.TLSCert, "tls-cert", "", "PEM file of the certificate for secure, with those of the CAs below the root behind it; it is read again when it changes. Empty for one that a CA in the data folder signs, see ledge ca")
	f.StringVar(&c.TLSKey, "tls-key", "", "PEM file of the key that belongs to tls-cert, without a password; it is read again when it changes")
	f.StringVar(&c.TLSClientCA, "tls-client-ca", "", "PEM file of the CA certificates that sign the certificates of clients; a client may then use its certificate instead of a token")
	f.StringVar(&c.TLSMinVersion, "tls-min-version", "1.3", "oldest version of TLS that clients may use: 1.3 or 1.2")

	f.Var(newTexts(&c.AllowHosts, handlers.CheckHost, edgexHosts), "allow-hosts", "host names, with commas between them, by which the HTTP services may be addressed beside IP addresses, localhost, the name of this machine and the names in the settings of addresses; *.example.org is all that end so, * is every name, which lets foreign web pages read everything; at first the names in EdgeX's own compose files")
	f.Var(newTexts(&c.TrustedOrigins, handlers.CheckOrigin, ""), "trusted-origins", "origins, with commas between them, whose web pages may use the HTTP services too, such as http://edge.example.org:4000; pages of all other origins are refused with 403")

	f.StringVar(&c.JWTIssuer, "jwt-issuer", "", "URL of an identity provider whose JWTs prove identities, as in their claim iss, such as https://id.example.org/realms/plant; its keys are found by OpenID Connect discovery. Needs jwt-audience")
	f.StringVar(&c.JWTJWKS, "jwt-jwks", "", "file or URL of the JWKS with the keys of jwt-issuer, instead of discovery")
	f.StringVar(&c.JWTAudience, "jwt-audience", "", "audience that a JWT must have in its claim aud, such as ledge")
	f.StringVar(&c.JWTRoleClaim, "jwt-role-claim", "role", "claim of a JWT that names the role, a string or a list; dots lead into objects, such as realm_access.roles")
	f.Var(newTexts(&c.TrustedProxies, checkProxy, ""), "trusted-proxies", "networks, with commas between them, of reverse proxies such as 10.0.0.2 or fd00::/8. Of their requests the client is the last address in X-Forwarded-For that is not itself in one of these networks")

	f.StringVar(&c.LogLevel, "log-level", "info", "least level that is logged: debug, info, warn or error")
	f.StringVar(&c.LogFormat, "log-format", "auto", "form of the log: text, json, or auto for text on a terminal and JSON elsewhere")
	f.StringVar(&c.Sync, "sync", "group", "how the log is made durable: group for one fsync for all that wait, always for one fsync for each event by the NATS server")

	f.Var(newSize(&c.DiskReserve, 64<<20), "disk-reserve", "free disk space below which changes are refused with 507")
	f.Var(newSize(&c.DiskReadingsReserve, 256<<20), "disk-readings-reserve", "free disk space below which readings are refused with 507, before changes are")
	f.Var(newSize(&c.EventsMaxBytes, 0), "events-max-bytes", "size at which the oldest changes move from the log to an archive, 16MiB or more; 0 keeps all of them on the log")
	f.DurationVar(&c.EventsMaxAge, "events-max-age", 0, "age at which changes move from the log to an archive, 1h or more; 0 keeps all of them on the log")
	f.StringVar(&c.ArchiveDir, "archive-dir", "", "folder of the archives; empty for archive in the data folder. Changes that are archived are read from there, and never removed")
	f.DurationVar(&c.NotificationsMaxAge, "notifications-max-age", 0, "time after their last change at which notifications are removed; 0 keeps them")
	f.Var(newSize(&c.NotificationsMaxBytes, 1<<30), "notifications-max-bytes", "size at which the oldest notifications leave the log; 0 for no limit")
	f.DurationVar(&c.ReadingsMaxAge, "readings-max-age", 0, "age at which readings are removed; 0 keeps them")
	f.Var(newSize(&c.ReadingsMaxBytes, 10<<30), "readings-max-bytes", "size of the readings on the disk, large values included, at which the oldest are removed; 0 for no limit")
	f.BoolVar(&c.ReadingsCheckState, "readings-check-state", true, "refuse what is posted to a device that is LOCKED or DOWN with 423, and to a write-only resource with 405; EdgeX 2.3 does not")
	f.Var(&c.ReadingsRetention, "readings-retention", "rules, with commas between them, by which readings are removed before that: a pattern of profile.device.resource with * and a final >, then any of age=24h, bytes=10GiB and count=100000; the first that matches holds, for all that match it together, such as camera.*.jpeg age=24h bytes=10GiB, *.*.* age=720h")

	f.Var(newSize(&c.LimitJSONBytes, 16<<20), "limit-json-bytes", "largest JSON body; a larger one is answered 413")
	f.Var(newSize(&c.LimitProfileBytes, 1<<20), "limit-profile-bytes", "largest device profile file; a larger one is answered 413")
	f.Var(newSize(&c.LimitEventBytes, 24<<20), "limit-event-bytes", "largest event posted to the data service; a larger one is answered 413")
	f.Var(newSize(&c.LimitSecretBytes, 256<<10), "limit-secret-bytes", "largest JSON body with a secret; a larger one is answered 413")
	f.Var(newSize(&c.LimitResourceBytes, 256<<20), "limit-resource-bytes", "largest body posted to a resource that has no attribute maxBodyBytes; a larger one is answered 413")
	f.Var(newSize(&c.LimitInlineBytes, 256<<10), "limit-inline-bytes", "largest body that is kept in the log's message itself; a larger one is kept as a file beside it")
	f.Var(newSize(&c.LimitBodyMemory, 128<<20), "limit-body-memory", "bytes of bodies that are in memory at once in each service, 16KiB or more, of which one client has three quarters at most, and half as much again for large entities and values in answers; a request that would pass it is answered 503; from 128 MiB more on, the process collects garbage more eagerly")
	f.IntVar(&c.LimitBatch, "limit-batch", 10000, "most elements of one request; more are answered 413")
	f.Var(newSize(&c.LimitChangeBytes, 64<<20), "limit-change-bytes", "bytes that the changes of one request may take, in whole profiles and else in bytes of the log; the elements after that are answered 413")
	f.IntVar(&c.LimitRequests, "limit-requests", 2048, "most requests with a body in work at once in each service, of which one client has three quarters at most; one more is answered 503")
	f.IntVar(&c.LimitConnections, "limit-connections", 0, "most connections to all HTTP services; for one more the longest idle one is closed; 0 for 2048, or fewer where the limit of file descriptors is low")
	f.IntVar(&c.LimitServiceConnections, "limit-service-connections", 0, "most connections to one HTTP service; 0 for three quarters of all")
	f.IntVar(&c.LimitClientConnections, "limit-client-connections", 0, "most connections of one client, which is an IPv4 address or an IPv6 network /64; 0 for three times as many as are free for others")
	f.DurationVar(&c.LimitReadTime, "limit-read-time", 30*time.Second, "longest time in which too little of a request's body may arrive; a slower one is answered 503")
	f.Var(newSize(&c.LimitReadRate, 8<<10), "limit-read-rate", "bytes a second that must arrive of a request's body, or its end, in each limit-read-time")
	f.DurationVar(&c.LimitWriteTime, "limit-write-time", 30*time.Second, "longest time that a client may take to read its answer, or a part of 64 KiB or one entity of a long one; a slower one is cut off")
	f.DurationVar(&c.ShutdownTimeout, "shutdown-timeout", 10*time.Second, "longest wait for requests in work at a stop")

	f.BoolVar(&c.StrictProfileChanges, "strict-profile-changes", false, "refuse with 423 to replace device profiles and to take resources and commands out of them")
	f.BoolVar(&c.StrictProfileDeletes, "strict-profile-deletes", false, "refuse with 423 to delete device profiles")
	f.StringVar(&c.UnitsFile, "units-file", "", "TOML or YAML file of the units of measure; without one there are a few of temperature and weight")
	f.BoolVar(&c.ValidateUnits, "validate-units", false, "refuse with 400 device resources whose units are not among the units of measure")

	f.DurationVar(&c.IdempotencyKeep, "idempotency-keep", 24*time.Hour, "how long the answer to a request with an Idempotency-Key is remembered")
	f.IntVar(&c.IdempotencyAnswers, "idempotency-answers", 200_000, "most answers to elements of requests with an Idempotency-Key that are remembered, in each stream, of which one client has three quarters at most; one more is refused with 503")

	c.DenyDestinations = guard.MustRules(guard.NoDestinations)
	f.Var(&c.DenyDestinations, "deny-destinations", "hosts, networks and ports, with commas between them, that no notification is sent to and no device service is called at, such as 10.0.0.0/8,*.example.org:443,*:25")
	f.Var(&c.AllowDestinations, "allow-destinations", "the only hosts, networks and ports that notifications are sent to and device services are called at, written as for deny-destinations, which goes before; empty for every one")
	c.HideAnswers = guard.MustRules(guard.HiddenAnswers)
	f.Var(&c.HideAnswers, "hide-answers", "hosts, networks and ports, with commas between them. Clients see only the status of their answers, in transmissions and in validation messages; empty to show whole answers")
	f.Var(&c.AllowBinds, "allow-binds", "the only hosts, networks and ports where ZeroMQ sockets are bound, such as 127.0.0.0/8,*:5560-5569; empty for every one above 1023 that is not Ledge's own")

	f.StringVar(&c.NameServer, "name-server", "", "name server that is asked for where notifications are sent, device services are called and ZeroMQ sockets are bound, as 192.168.1.1:53; empty for those of the machine")
	f.StringVar(&c.OutgoingCA, "outgoing-ca", "", "PEM file of the CA certificates that are trusted, beside those of the system, where a notification is sent or a device service is called over TLS")
	f.DurationVar(&c.ConnectTimeout, "connect-timeout", 5*time.Second, "longest time to connect to where a notification is sent or a device service is called")
	f.IntVar(&c.RESTIdleConnections, "rest-idle-connections", 64, "connections to endpoints that are kept for the next notification")
	f.StringVar(&c.SMTPHost, "smtp-host", "", "mail server; without one no e-mail can be sent")
	f.IntVar(&c.SMTPPort, "smtp-port", 587, "TCP port of the mail server")
	f.StringVar(&c.SMTPSender, "smtp-sender", "", "address that e-mail is from, such as ledge@example.org; needed where smtp-host is set")
	f.StringVar(&c.SMTPSubject, "smtp-subject", "Ledge notification", "subject of all e-mail")
	f.StringVar(&c.SMTPTLS, "smtp-tls", "mandatory", "how the way to the mail server is encrypted: mandatory for STARTTLS or nothing, opportunistic for STARTTLS where it is offered, implicit for TLS from the start as on port 465, none")
	f.BoolVar(&c.SMTPSkipVerify, "smtp-skip-verify", false, "trust every certificate of the mail server, also a self-signed certificate")
	f.StringVar(&c.SMTPSecretPath, "smtp-secret-path", "smtp", "path of the secret with username and password for the mail server; without a path, or with an empty password, there is no login")
	f.Var(&c.SecretUses, "secret-uses", "uses of secrets, with commas between them, beside the allowedUses that are stored with them: path=channel:host:port, with :insecure behind it to allow the login without verified TLS, such as broker=MQTT:127.0.0.1:1883:insecure")
	f.StringVar(&c.SecretKeyFile, "secret-key-file", "", "file of the key that encrypts the secret store, as age-keygen writes it, outside the data folder; empty for the systemd credential ledge-secret-key, or for no encryption if there is none")
	f.IntVar(&c.MQTTConnections, "mqtt-connections", 64, "most connections to MQTT brokers at once; where all are in use, a message waits for its next try")
	f.DurationVar(&c.MQTTIdleTime, "mqtt-idle-time", time.Minute, "time without messages after which a connection to an MQTT broker is closed")

	f.IntVar(&c.ZeroMQSockets, "zeromq-sockets", 64, "most ZeroMQ sockets, one for each host and port of channels; a subscription that needs one more is answered 503. The limit of open files may make it fewer, and zeromq-peers too")
	f.IntVar(&c.ZeroMQPeers, "zeromq-peers", 2048, "most connections to all ZeroMQ sockets. A further connection replaces the connection that has been without a subscription for longest; if all have a subscription, it is refused")
	f.IntVar(&c.ZeroMQPeersPerAddress, "zeromq-peers-per-address", 256, "most connections of one IP address to all ZeroMQ sockets; one more is treated as for zeromq-peers")
	f.IntVar(&c.ZeroMQSubscribers, "zeromq-subscribers", 1024, "most connections to one ZeroMQ socket; one more is treated as for zeromq-peers")
	f.IntVar(&c.ZeroMQTopics, "zeromq-topics", 16384, "most topics of one ZeroMQ subscriber; one more ends its connection")
	f.Var(newSize(&c.ZeroMQTopicBytes, 2<<20), "zeromq-topic-bytes", "bytes of the topics of one ZeroMQ subscriber, 64 more counted for each; more end its connection")
	f.Var(newSize(&c.ZeroMQAllTopicBytes, 16<<20), "zeromq-all-topic-bytes", "bytes of the topics of all ZeroMQ subscribers; where there are more, the IP address with the most loses its subscriber with the most")
	f.IntVar(&c.ZeroMQQueueMessages, "zeromq-queue-messages", 1000, "messages that wait for one slow ZeroMQ subscriber; the next are dropped for it alone and counted")
	f.Var(newSize(&c.ZeroMQQueueBytes, 8<<20), "zeromq-queue-bytes", "bytes that wait for one slow ZeroMQ subscriber; the next messages are dropped for it alone and counted")
	f.Var(newSize(&c.ZeroMQAllQueueBytes, 64<<20), "zeromq-all-queue-bytes", "memory of what waits for all ZeroMQ subscribers, or 4 times zeromq-queue-bytes if that is more; half of it in equal shares. Where there is no room, messages are dropped, counted, and subscribers that took nothing for a second are cut off")
	f.Var(newSize(&c.ZeroMQMaxFrame, 64<<10), "zeromq-max-frame", "largest frame that a ZeroMQ subscriber may send; a larger one ends its connection")
	f.DurationVar(&c.ZeroMQHandshakeTime, "zeromq-handshake-time", 5*time.Second, "longest handshake of a ZeroMQ subscriber")
	f.DurationVar(&c.ZeroMQStallTime, "zeromq-stall-time", 30*time.Second, "time without progress after which a ZeroMQ subscriber is cut off")
	f.DurationVar(&c.ZeroMQLinger, "zeromq-linger", time.Second, "longest time that a closing ZeroMQ socket takes to send what waits")

	f.IntVar(&c.ResendLimit, "resend-limit", 2, "how often a notification that was not delivered is sent again, where its subscription has no resendLimit; 99 at most")
	f.DurationVar(&c.ResendInterval, "resend-interval", 5*time.Second, "time before it is sent again, where its subscription has no resendInterval; it doubles from try to try")
	f.IntVar(&c.DeliveryAtOnce, "delivery-at-once", 4, "most sends to one endpoint under way at once; the first one, and one after a failure, is alone")
	f.IntVar(&c.DeliveryConcurrency, "delivery-concurrency", 128, "maximum concurrent deliveries to endpoints that work and are fast. Slow endpoints have a pool of half the size, and failing endpoints another one; further deliveries wait")
	f.IntVar(&c.DeliveryQueue, "delivery-queue", 10000, "notifications for one endpoint that are queued in memory; the others wait on record")
	f.DurationVar(&c.DeliveryTimeout, "delivery-timeout", 10*time.Second, "longest time for one try to deliver a notification")
	f.DurationVar(&c.DeliveryLongestWait, "delivery-longest-wait", time.Hour, "longest time between two tries to deliver a notification")
	f.DurationVar(&c.DeliveryLongestPause, "delivery-longest-pause", time.Minute, "longest pause between tries at an endpoint that fails")
	f.DurationVar(&c.DeliveryGiveUp, "delivery-give-up", 24*time.Hour, "age at which a notification that was not delivered is given up")

	f.IntVar(&c.ReplayLimit, "replay-limit", 100000, "most notifications that one replay of a subscription sends; it answers where to go on")
	f.DurationVar(&c.ReplayTime, "replay-time", 5*time.Second, "time after which a replay answers with what it has sent and where to go on")
	f.DurationVar(&c.ReplayWait, "replay-wait", 2*time.Second, "longest time that a replay waits for a ZeroMQ subscriber to connect and to read. A subscriber that does not read loses the replayed messages, which are counted")
	f.IntVar(&c.ReplayConcurrency, "replay-concurrency", 4, "most replays under way at once, one for each subscription; one more is answered 503")

	f.DurationVar(&c.CallbackTimeout, "callback-timeout", 10*time.Second, "longest wait for a device service's answer to a callback")
	f.DurationVar(&c.CallbackValidationTimeout, "callback-validation-timeout", 3*time.Second, "how long to wait for a device service to validate a device that is added or changed; no answer counts as yes")
	f.IntVar(&c.CallbackTries, "callback-tries", 5, "how often a callback is tried if the device service answers with an error 5xx")
	f.DurationVar(&c.CallbackGiveUp, "callback-give-up", 10*time.Minute, "how long a callback is retried if the device service does not answer; then it is given up")
	f.IntVar(&c.CallbackQueue, "callback-queue", 100000, "most callbacks that wait for one device service; a further one replaces the oldest")
	f.IntVar(&c.CallbackConcurrency, "callback-concurrency", 64, "maximum concurrent callbacks, one for each device service, and maximum concurrent validations. Slow device services have a pool of half the size, and failing ones another one; further calls wait")
	f.Var(newSize(&c.CallbackAnswerBytes, 64<<10), "callback-answer-bytes", "how much of a device service's answer is read")
	return f
}

// partial are the settings, by how their names begin, that not all HTTP services have.
var partial = map[string][]string{
	"metadata-": {metadataService}, "data-host": {dataService}, "data-port": {dataService}, "limit-event-bytes": {dataService}, "device-rest-": {deviceRESTService}, "notifications-": {notificationsService},
	"readings-": {dataService, deviceRESTService}, "readings-check-state": {deviceRESTService}, "disk-readings-reserve": {dataService, deviceRESTService}, "zeromq-": {notificationsService}, "resend-": {notificationsService}, "delivery-": {notificationsService}, "replay-": {notificationsService}, "callback-": {metadataService},
	"rest-": {notificationsService}, "smtp-": {notificationsService}, "mqtt-": {notificationsService}, "secret-uses": {notificationsService}, "connect-timeout": {metadataService, notificationsService}, "name-server": {metadataService, notificationsService}, "outgoing-ca": {metadataService, notificationsService},
	"allow-binds": {notificationsService}, "allow-destinations": {metadataService, notificationsService}, "deny-destinations": {metadataService, notificationsService}, "hide-answers": {metadataService, notificationsService},
	"limit-json-bytes":    {metadataService, deviceRESTService, notificationsService},
	"limit-batch":         {metadataService, notificationsService},
	"limit-change-bytes":  {metadataService, notificationsService},
	"limit-profile-bytes": {metadataService}, "strict-profile-": {metadataService}, "units-file": {metadataService}, "validate-units": {metadataService},
	"limit-secret-bytes": {deviceRESTService, notificationsService}, "limit-resource-bytes": {deviceRESTService}, "limit-inline-bytes": {dataService, deviceRESTService},
}

// inForce returns the settings of an HTTP service with their values, written as in a file of settings.
func (c *Config) inForce(service string) map[string]string {
	values := map[string]string{}
	c.declared.VisitAll(func(f *pflag.Flag) {
		for prefix, services := range partial {
			if strings.HasPrefix(f.Name, prefix) && !slices.Contains(services, service) {
				return
			}
		}
		values[f.Name] = f.Value.String()
	})
	return values
}

// envName is the environment variable of a setting.
func envName(setting string) string {
	return "LEDGE_" + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

// load fills in, below the flags that were given, what the environment and below it the file at path say. It returns
// where each setting's value comes from.
func load(flags *pflag.FlagSet, path string, env func(string) (string, bool)) (source map[string]string, err error) {
	file, err := readFile(path)
	if err != nil {
		return nil, err
	}
	source = map[string]string{}
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		from, value := "default", f.DefValue
		if v, ok := file[f.Name]; ok {
			from, value = path, v
		}
		if v, ok := env(envName(f.Name)); ok {
			from, value = envName(f.Name), v
		}
		delete(file, f.Name)
		if f.Changed {
			source[f.Name] = "--" + f.Name
			return
		}
		source[f.Name] = from
		if err := f.Value.Set(value); err != nil {
			errs = append(errs, fmt.Errorf("%s: setting %s: %q: %w", from, f.Name, value, inWords(f, err)))
		}
	})
	for _, name := range slices.Sorted(maps.Keys(file)) {
		errs = append(errs, fmt.Errorf("%s: there is no setting %q; `ledge config` lists them", path, name))
	}
	return source, errors.Join(errs...)
}

// inWords is what is wrong with a value that f does not take, for people.
func inWords(f *pflag.Flag, err error) error {
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errors.New("is out of range; use a whole number that is nearer to 0")
	case f.Value.Type() == "int":
		return errors.New("is no whole number; use digits only, such as 60")
	case f.Value.Type() == "uint64":
		return errors.New("is no whole number of 0 or more; use digits only, such as 60")
	case f.Value.Type() == "duration":
		return errors.New("is no time; write it with its unit, such as 500ms, 30s or 24h")
	case f.Value.Type() == "bool":
		return errors.New("is neither true nor false; use one of them")
	}
	return err
}

// maxFile is the most bytes that a file of settings may have.
const maxFile = 1 << 20

// readFile flattens the YAML file at path: metadata: {port: 1} is "metadata-port": "1", and a list is its values with
// commas between them.
func readFile(path string) (map[string]string, error) {
	flat := map[string]string{}
	if path == "" {
		return flat, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	defer f.Close()
	var root yaml.Node
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("configuration file %s: is larger than 1 MiB; it needs only the settings that differ from their defaults", path)
	}
	in := yaml.NewDecoder(bytes.NewReader(text))
	if err := in.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("configuration file %s: %w", path, err)
	}
	if err := in.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("configuration file %s: something follows its first document; write all settings in one, without --- between them", path)
	}
	for _, n := range root.Content {
		if err := flatten(flat, "", n); err != nil {
			return nil, fmt.Errorf("configuration file %s: %w", path, err)
		}
	}
	return flat, nil
}

func flatten(flat map[string]string, prefix string, n *yaml.Node) error {
	if _, ok := flat[prefix]; ok && n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s is there twice; leave one of them out", n.Line, prefix)
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			if err := flatten(flat, strings.TrimPrefix(prefix+"-"+n.Content[i].Value, "-"), n.Content[i+1]); err != nil {
				return err
			}
		}
	case yaml.ScalarNode:
		flat[prefix] = n.Value
	case yaml.SequenceNode:
		list := make([]string, len(n.Content))
		for i, one := range n.Content {
			if one.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: %s must be a list of single values", one.Line, prefix)
			}
			list[i] = one.Value
		}
		flat[prefix] = strings.Join(list, ",")
	default:
		return fmt.Errorf("line %d: %s must be a single value, a list of them or a section", n.Line, prefix)
	}
	return nil
}

// check refuses values that no service could start with.
func (c *Config) check() error {
	var errs []error
	bad := func(name string, value any, cure string) {
		errs = append(errs, fmt.Errorf("setting %s: %v: %s", name, value, cure))
	}
	for name, port := range map[string]int{"metadata-port": c.MetadataPort, "data-port": c.CoreDataPort, "device-rest-port": c.DeviceRESTPort, "notifications-port": c.NotificationsPort} {
		if port < 0 || port > 65535 {
			bad(name, port, "use a TCP port from 0 to 65535")
		}
	}
	if c.TapPort < -1 || c.TapPort > 65535 {
		bad("tap-port", c.TapPort, "use a TCP port from 0 to 65535, or -1")
	}
	for name, host := range map[string]string{
		"metadata-host": c.MetadataHost, "data-host": c.CoreDataHost, "device-rest-host": c.DeviceRESTHost, "notifications-host": c.NotificationsHost, "tap-host": c.TapHost,
	} {
		if host == "" {
			bad(name, `""`, "give an address, such as 127.0.0.1, or 0.0.0.0 for all of this machine, which needs allow-insecure")
		}
	}
	c.checkSecure(bad)
	if c.Sync != "group" && c.Sync != "always" {
		bad("sync", c.Sync, "use group or always")
	}
	if c.LogFormat != "auto" && c.LogFormat != "text" && c.LogFormat != "json" {
		bad("log-format", c.LogFormat, "use auto, text or json")
	}
	if err := new(slog.Level).UnmarshalText([]byte(c.LogLevel)); err != nil {
		bad("log-level", c.LogLevel, "use debug, info, warn or error")
	}
	if c.ResendLimit < 0 || c.ResendLimit >= domain.MaxTries {
		bad("resend-limit", c.ResendLimit, fmt.Sprintf("use a number from 0 to %d", domain.MaxTries-1))
	}
	for name, d := range map[string]time.Duration{
		"resend-interval": c.ResendInterval, "notifications-max-age": c.NotificationsMaxAge, "readings-max-age": c.ReadingsMaxAge,
		"shutdown-timeout": c.ShutdownTimeout, "zeromq-linger": c.ZeroMQLinger,
	} {
		if d < 0 {
			bad(name, d, "use a time of 0 or more, such as 5s")
		}
	}
	for name, n := range map[string]size{"disk-reserve": c.DiskReserve, "disk-readings-reserve": c.DiskReadingsReserve} {
		if n == 0 {
			bad(name, n, "use 1 or more: without a reserve a full disk would be met in the middle of a write")
		}
	}
	if c.EventsMaxBytes > 0 && c.EventsMaxBytes < leastEvents {
		bad("events-max-bytes", &c.EventsMaxBytes, "use 0, or 16MiB or more: the log is archived in files of 8 MiB")
	}
	if c.EventsMaxAge != 0 && c.EventsMaxAge < time.Hour {
		bad("events-max-age", c.EventsMaxAge, "use 0, or 1h or more")
	}
	for name, n := range map[string]size{
		"limit-json-bytes": c.LimitJSONBytes, "limit-profile-bytes": c.LimitProfileBytes, "limit-resource-bytes": c.LimitResourceBytes,
		"limit-inline-bytes": c.LimitInlineBytes, "limit-secret-bytes": c.LimitSecretBytes,
		"limit-change-bytes": c.LimitChangeBytes, "limit-event-bytes": c.LimitEventBytes, "limit-read-rate": c.LimitReadRate,
	} {
		if n == 0 {
			bad(name, n, "use 1 or more: nothing would be let in")
		}
	}
	for name, d := range map[string]time.Duration{
		"limit-read-time": c.LimitReadTime, "limit-write-time": c.LimitWriteTime, "callback-timeout": c.CallbackTimeout,
		"callback-validation-timeout": c.CallbackValidationTimeout, "delivery-timeout": c.DeliveryTimeout,
		"delivery-longest-wait": c.DeliveryLongestWait, "delivery-longest-pause": c.DeliveryLongestPause,
		"callback-give-up": c.CallbackGiveUp, "delivery-give-up": c.DeliveryGiveUp, "zeromq-handshake-time": c.ZeroMQHandshakeTime,
		"zeromq-stall-time": c.ZeroMQStallTime,
		"connect-timeout":   c.ConnectTimeout, "mqtt-idle-time": c.MQTTIdleTime,
		"replay-time": c.ReplayTime, "replay-wait": c.ReplayWait,
	} {
		if d <= 0 {
			bad(name, d, "use a time above 0, such as 30s")
		}
	}
	for name, n := range map[string]int{
		"limit-batch": c.LimitBatch, "limit-requests": c.LimitRequests, "zeromq-subscribers": c.ZeroMQSubscribers, "zeromq-queue-messages": c.ZeroMQQueueMessages,
		"zeromq-sockets": c.ZeroMQSockets, "zeromq-peers": c.ZeroMQPeers, "zeromq-peers-per-address": c.ZeroMQPeersPerAddress, "zeromq-topics": c.ZeroMQTopics,
		"callback-tries": c.CallbackTries, "callback-queue": c.CallbackQueue, "callback-concurrency": c.CallbackConcurrency,
		"delivery-at-once": c.DeliveryAtOnce, "delivery-concurrency": c.DeliveryConcurrency, "delivery-queue": c.DeliveryQueue,
		"rest-idle-connections": c.RESTIdleConnections, "mqtt-connections": c.MQTTConnections, "tap-connections": c.TapConnections,
		"replay-limit": c.ReplayLimit, "replay-concurrency": c.ReplayConcurrency,
	} {
		if n < 1 {
			bad(name, n, "use 1 or more")
		}
	}
	for name, n := range map[string]size{"zeromq-queue-bytes": c.ZeroMQQueueBytes, "zeromq-max-frame": c.ZeroMQMaxFrame, "zeromq-topic-bytes": c.ZeroMQTopicBytes, "zeromq-all-topic-bytes": c.ZeroMQAllTopicBytes} {
		if n == 0 {
			bad(name, n, "use 1 or more")
		}
	}
	for name, n := range map[string]int{
		"limit-connections": c.LimitConnections, "limit-service-connections": c.LimitServiceConnections, "limit-client-connections": c.LimitClientConnections,
	} {
		if n < 0 {
			bad(name, n, "use 0 or more")
		}
	}
	if c.IdempotencyKeep < time.Millisecond {
		bad("idempotency-keep", c.IdempotencyKeep, "use a time of 1ms or more, such as 24h")
	}
	if domain.Share(0, int64(c.IdempotencyAnswers)) < int64(c.LimitBatch) {
		bad("idempotency-answers", c.IdempotencyAnswers, fmt.Sprintf("use %d or more: one request may have limit-batch (%d), and one client three quarters of all", c.LimitBatch+c.LimitBatch/3, c.LimitBatch))
	}
	if _, err := netip.ParseAddrPort(c.NameServer); err != nil && c.NameServer != "" {
		bad("name-server", c.NameServer, "use an address and a port, such as 192.168.1.1:53 or [2001:db8::1]:53")
	}
	if err := c.mail().Check(); err != nil {
		errs = append(errs, err)
	}
	if c.LimitBodyMemory < handlers.LeastBodyMemory {
		bad("limit-body-memory", c.LimitBodyMemory, "use 16KiB or more: the smallest value that is posted takes that much")
	}
	if c.LimitInlineBytes > 8<<20 {
		bad("limit-inline-bytes", c.LimitInlineBytes, "use at most 8MiB")
	}
	if c.TapMemory < store.LeastTapMemory {
		bad("tap-memory", &c.TapMemory, "use 34MiB or more: the largest message must fit")
	}
	c.checkJWT(bad)
	slices.SortStableFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) }) // each begins with its setting's name
	return errors.Join(errs...)
}
