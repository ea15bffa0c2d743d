package main

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ledge/bridge/guard"
	"ledge/domain"
	"ledge/handlers"
)

// Config is every setting. A setting has one name, in kebab case: "metadata-port" is the flag --metadata-port, the
// environment variable LEDGE_METADATA_PORT, and in the YAML file the key metadata-port, or port below metadata.
type Config struct {
	DataDir string

	listen          map[string]*listenAddress // by service
	TapHost         string
	TapPort         int
	ConsoleIdle     time.Duration
	AllowInsecure   bool
	AllowHosts      texts
	TrustedOrigins  texts
	TrustedProxies  texts
	Secure          bool
	Loopback        string
	LoopbackRole    string
	TLSCert, TLSKey string
	TLSClientCA     string
	TLSMinVersion   string
	JWTIssuer       string
	JWTJWKS         string
	JWTAudience     string
	JWTRoleClaim    string
	SecretKeyFile   string
	SecretUses      secretUses
	LogLevel        string
	LogFormat       string
	Pprof           bool

	DiskReserve, DiskReadingsReserve           size
	EventsMaxBytes                             size
	EventsMaxAge                               time.Duration
	ArchiveDir                                 string
	NotificationsMaxBytes                      size
	NotificationsMaxAge                        time.Duration
	ReadingsMaxBytes                           size
	ReadingsMaxAge                             time.Duration
	ReadingsRetention                          retentionRules
	LimitJSONBytes, LimitProfileBytes          size
	LimitEventBytes, LimitResourceBytes        size
	LimitInlineBytes, LimitBodyMemory          size
	LimitReadTime, LimitWriteTime              time.Duration
	MaxResultCount                             int
	IdempotencyKeep                            time.Duration
	StrictProfileChanges, StrictProfileDeletes bool
	PersistData, ReadingsCheckState            bool
	UnitsFile                                  string
	ValidateUnits                              bool

	AllowDestinations, DenyDestinations guard.Rules
	AllowBinds, HideAnswers             guard.Rules
	NameServer, OutgoingCA              string
	ResendLimit                         int
	ResendInterval                      time.Duration
	DeliveryTimeout, DeliveryGiveUp     time.Duration
	SMTPHost, SMTPSender, SMTPSubject   string
	SMTPPort                            int
	SMTPTLS                             string
	SMTPSkipVerify                      bool
	SMTPSecretPath                      string

	tap       tapAccess             // how the tap knows its clients
	tapFiles  int                   // descriptors for the tap listener; 0 for a command that does not listen
	declared  *pflag.FlagSet        // what settings returned
	groups    []settingGroup        // the same settings, by what they are about
	addresses map[string]netip.Addr // what findAddresses found, by setting
}

// listenAddress is where a service listens.
type listenAddress struct {
	host string
	port int
}

// listenAt is where the settings have a service listen.
func (c *Config) listenAt(one service) (host string, port int) {
	at := c.listen[one.name]
	return at.host, at.port
}

// settingGroup are settings about one thing, for the help and for the file of settings.
type settingGroup struct {
	title string
	flags *pflag.FlagSet
}

// group begins a group of settings.
func (c *Config) group(title string) *pflag.FlagSet {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	c.groups = append(c.groups, settingGroup{title, flags})
	return flags
}

// settings declares every setting with its default and its documentation: the one place for both. None holds a secret:
// GET /api/v2/config shows them.
func (c *Config) settings() *pflag.FlagSet {
	c.listen, c.groups = map[string]*listenAddress{}, nil

	f := c.group("Data")
	f.StringVar(&c.DataDir, "data-dir", "./data", "folder of the log and of the state that is folded from it")

	f = c.group("Addresses")
	for _, one := range services {
		at := new(listenAddress)
		f.StringVar(&at.host, one.setting+"-host", "127.0.0.1", "address of "+one.about)
		f.IntVar(&at.port, one.setting+"-port", one.port, "TCP port of "+one.about+"; 0 takes a free one")
		c.listen[one.name] = at
	}
	f.Var(newDuration(&c.ConsoleIdle, 8*time.Hour), "console-idle", "time after which a login at the console ends if the user sends no request")
	f.StringVar(&c.TapHost, "tap-host", "127.0.0.1", "address of the NATS listener for taps. Taps read everything")
	f.IntVar(&c.TapPort, "tap-port", 4222, "TCP port of the NATS listener for taps; 0 takes a free one, -1 turns it off")
	f.BoolVar(&c.AllowInsecure, "allow-insecure", false, "allow addresses beyond loopback without --secure. Every machine that reaches such an address reads and changes everything without a login")
	f.Var(newTexts(&c.AllowHosts, handlers.CheckHost, edgexHosts), "allow-hosts", "comma-separated host names that requests may name, beside IP addresses, localhost, the name of this machine and the names in the settings of addresses. *.example.org matches all names below it. * matches every name and lets foreign web pages read everything")
	f.Var(newTexts(&c.TrustedOrigins, handlers.CheckOrigin, ""), "trusted-origins", "comma-separated origins whose web pages may use the HTTP services, such as http://edge.example.org:4000. Pages of other origins are refused with 403")
	f.Var(newTexts(&c.TrustedProxies, checkProxy, ""), "trusted-proxies", "comma-separated networks of reverse proxies, such as 10.0.0.2 or fd00::/8. For their requests, the client is the last address in X-Forwarded-For that is outside these networks")

	f = c.group("Secure mode, identities and secrets")
	f.BoolVar(&c.Secure, "secure", false, "accept only TLS and known identities, at all HTTP services and the tap. Services without a configured address then listen on all addresses of this machine")
	f.StringVar(&c.Loopback, "loopback", "secure", "what plain HTTP from 127.0.0.1 to 127.0.0.1 may do with --secure: secure refuses it, open allows it without a login, for EdgeX services on this machine")
	f.StringVar(&c.LoopbackRole, "loopback-role", string(domain.Operator), "role of requests that loopback allows: viewer, poster, operator, auditor or admin")
	f.StringVar(&c.TLSCert, "tls-cert", "", "PEM file of the server certificate, followed by intermediate certificates. It is reloaded when it changes. Default: a certificate of the local CA in the data folder, see ledge ca")
	f.StringVar(&c.TLSKey, "tls-key", "", "PEM file of the private key for tls-cert, without a password. It is reloaded when it changes")
	f.StringVar(&c.TLSClientCA, "tls-client-ca", "", "PEM file of the CA certificates that sign client certificates. A client may then use its certificate instead of a token")
	f.StringVar(&c.TLSMinVersion, "tls-min-version", "1.3", "oldest TLS version that is accepted: 1.3 or 1.2")
	f.StringVar(&c.JWTIssuer, "jwt-issuer", "", "URL of an identity provider whose JWTs are accepted, as in their claim iss, such as https://id.example.org/realms/plant. Its keys are found by OpenID Connect discovery. Needs jwt-audience")
	f.StringVar(&c.JWTJWKS, "jwt-jwks", "", "file or URL of the JWKS with the keys of jwt-issuer, instead of discovery")
	f.StringVar(&c.JWTAudience, "jwt-audience", "", "audience that a JWT must have in its claim aud, such as ledge")
	f.StringVar(&c.JWTRoleClaim, "jwt-role-claim", "role", "claim of a JWT that names the role, as a string or a list. Dots lead into objects, such as realm_access.roles")
	f.StringVar(&c.SecretKeyFile, "secret-key-file", "", "file of the key that encrypts the secret store, in the format of age-keygen, outside the data folder. Default: the systemd credential ledge-secret-key, or no encryption without one")
	f.Var(&c.SecretUses, "secret-uses", "comma-separated uses of secrets, beside the allowedUses stored with them: path=channel:host:port. A trailing :insecure allows a login without verified TLS, such as broker=MQTT:127.0.0.1:1883:insecure")

	f = c.group("Log of the program")
	f.StringVar(&c.LogLevel, "log-level", "info", "lowest level that is logged: debug, info, warn or error")
	f.StringVar(&c.LogFormat, "log-format", "auto", "format of the log: text, json, or auto, which is text on a terminal and json elsewhere")
	f.BoolVar(&c.Pprof, "pprof", false, "serve Go's profiles below /debug/pprof/ of the metadata service: with --secure to administrators, otherwise to clients on this machine")

	f = c.group("Disk and retention")
	f.Var(newSize(&c.DiskReserve, 64<<20), "disk-reserve", "free disk space below which changes are refused with 507")
	f.Var(newSize(&c.DiskReadingsReserve, 256<<20), "disk-readings-reserve", "free disk space below which readings are refused with 507, before changes are")
	f.Var(newSize(&c.EventsMaxBytes, 0), "events-max-bytes", "size at which the oldest changes move from the log to an archive, 16MiB or more; 0 keeps all of them on the log")
	f.Var(newDuration(&c.EventsMaxAge, 0), "events-max-age", "age at which changes move from the log to an archive, 1h or more; 0 keeps all of them on the log")
	f.StringVar(&c.ArchiveDir, "archive-dir", "", "folder of the archives. Default: archive in the data folder. Archived changes stay readable and are never removed")
	f.Var(newSize(&c.NotificationsMaxBytes, 1<<30), "notifications-max-bytes", "size at which the oldest notifications are removed; 0 for no limit")
	f.Var(newDuration(&c.NotificationsMaxAge, 0), "notifications-max-age", "age since the last change at which notifications are removed; 0 keeps them")
	f.Var(newSize(&c.ReadingsMaxBytes, 10<<30), "readings-max-bytes", "size on disk, including large values, at which the oldest readings are removed; 0 for no limit")
	f.Var(newDuration(&c.ReadingsMaxAge, 0), "readings-max-age", "age at which readings are removed; 0 keeps them")
	f.Var(&c.ReadingsRetention, "readings-retention", "comma-separated rules that remove readings earlier: a pattern of profile.device.resource with * and a final >, then any of age=24h, bytes=10GiB and count=100000. The first rule that matches applies. Example: camera.*.jpeg age=24h bytes=10GiB, *.*.* age=720h")

	f = c.group("Requests")
	f.Var(newSize(&c.LimitJSONBytes, 16<<20), "limit-json-bytes", "maximum size of a JSON body; larger ones are answered 413")
	f.Var(newSize(&c.LimitProfileBytes, 1<<20), "limit-profile-bytes", "maximum size of a device profile file; larger ones are answered 413")
	f.Var(newSize(&c.LimitEventBytes, 24<<20), "limit-event-bytes", "maximum size of an event posted to the data service; larger ones are answered 413")
	f.Var(newSize(&c.LimitResourceBytes, 256<<20), "limit-resource-bytes", "maximum size of a value posted to a resource without the attribute maxBodyBytes; larger ones are answered 413")
	f.Var(newSize(&c.LimitInlineBytes, 256<<10), "limit-inline-bytes", "maximum size of a value that is stored in the message on the log; larger values are stored as files beside it")
	f.Var(newSize(&c.LimitBodyMemory, 128<<20), "limit-body-memory", "memory for request bodies in each service, 16KiB or more. One client gets three quarters of it. Half as much again is for large entities and values in answers. Requests beyond it are answered 503")
	f.Var(newDuration(&c.LimitReadTime, 30*time.Second), "limit-read-time", "time in which a part of a request body must arrive, at 8 KiB a second; slower requests are answered 503")
	f.Var(newDuration(&c.LimitWriteTime, 30*time.Second), "limit-write-time", "time in which a client must read an answer, or 64 KiB or one entity of a long answer; slower clients are disconnected")
	f.IntVar(&c.MaxResultCount, "max-result-count", 1024, "maximum number of list entries in one answer, EdgeX's MaxResultCount, up to 65536. A larger limit in a query is answered 400")
	f.Var(newDuration(&c.IdempotencyKeep, 24*time.Hour), "idempotency-keep", "how long the answer to a request with an Idempotency-Key is remembered")

	f = c.group("Rules of the EdgeX API")
	f.BoolVar(&c.StrictProfileChanges, "strict-profile-changes", false, "refuse with 423 to replace device profiles and to remove resources and commands from them")
	f.BoolVar(&c.StrictProfileDeletes, "strict-profile-deletes", false, "refuse with 423 to delete device profiles")
	f.BoolVar(&c.PersistData, "persist-data", true, "store posted events and values, EdgeX's PersistData. With false they reach taps only, and a value of more than 8 MiB reaches them without its data")
	f.BoolVar(&c.ReadingsCheckState, "readings-check-state", true, "refuse values for a LOCKED device with 423, and values for a write-only resource with 405. EdgeX 2.3 accepts both")
	f.StringVar(&c.UnitsFile, "units-file", "", "TOML or YAML file of the units of measure. Default: a few units of temperature and weight")
	f.BoolVar(&c.ValidateUnits, "validate-units", false, "refuse with 400 device resources whose units are not in the units of measure")

	f = c.group("Destinations of notifications and callbacks")
	f.Var(&c.AllowDestinations, "allow-destinations", "if set, the only hosts, networks and ports to which Ledge sends notifications and callbacks, in the form of deny-destinations, which wins")
	c.DenyDestinations = guard.MustRules(guard.NoDestinations)
	f.Var(&c.DenyDestinations, "deny-destinations", "comma-separated hosts, networks and ports to which Ledge sends nothing: no notification and no callback, such as 10.0.0.0/8,*.example.org:443,*:25")
	f.Var(&c.AllowBinds, "allow-binds", "hosts, networks and ports that ZeroMQ channels may bind, such as 127.0.0.0/8,*:5560-5569. Default: any port above 1023 that Ledge does not use itself")
	c.HideAnswers = guard.MustRules(guard.HiddenAnswers)
	f.Var(&c.HideAnswers, "hide-answers", "comma-separated hosts, networks and ports whose answers are stored and shown as a status only, in transmissions and validation messages. Empty shows whole answers")
	f.StringVar(&c.NameServer, "name-server", "", "name server for the hosts of notifications, callbacks and ZeroMQ sockets, such as 192.168.1.1:53. Default: those of this machine")
	f.StringVar(&c.OutgoingCA, "outgoing-ca", "", "PEM file of CA certificates that are trusted for outgoing TLS connections, beside those of this machine")

	f = c.group("Delivery of notifications")
	f.IntVar(&c.ResendLimit, "resend-limit", 20, "how often an undelivered notification is sent again, up to 99. Applies to subscriptions with neither resendLimit nor resendInterval")
	f.Var(newDuration(&c.ResendInterval, time.Second), "resend-interval", "time before the first resend, for the same subscriptions. It doubles from try to try, up to 10 minutes")
	f.Var(newDuration(&c.DeliveryTimeout, 10*time.Second), "delivery-timeout", "time limit for one try to deliver a notification")
	f.Var(newDuration(&c.DeliveryGiveUp, 24*time.Hour), "delivery-give-up", "age at which an undelivered notification is given up")
	f.StringVar(&c.SMTPHost, "smtp-host", "", "mail server. Without one, no e-mail can be sent")
	f.IntVar(&c.SMTPPort, "smtp-port", 587, "TCP port of the mail server")
	f.StringVar(&c.SMTPSender, "smtp-sender", "", "sender address of e-mail, such as ledge@example.org. Required with smtp-host")
	f.StringVar(&c.SMTPSubject, "smtp-subject", "Ledge notification", "subject of e-mail")
	f.StringVar(&c.SMTPTLS, "smtp-tls", "mandatory", "encryption to the mail server: mandatory requires STARTTLS, opportunistic uses STARTTLS if offered, implicit is TLS from the start as on port 465, none is plain text")
	f.BoolVar(&c.SMTPSkipVerify, "smtp-skip-verify", false, "accept any certificate of the mail server, including self-signed ones")
	f.StringVar(&c.SMTPSecretPath, "smtp-secret-path", "smtp", "path of the secret with username and password for the mail server. Empty, or an empty password: no login")

	c.declared = pflag.NewFlagSet("settings", pflag.ContinueOnError)
	for _, one := range c.groups {
		c.declared.AddFlagSet(one.flags)
	}
	return c.declared
}

// partial are the settings, by how their names begin, that not all HTTP services have.
var partial = map[string][]string{
	"metadata-": {metadataService}, "pprof": {metadataService}, "data-host": {dataService}, "data-port": {dataService}, "limit-event-bytes": {dataService}, "device-rest-": {deviceRESTService}, "notifications-": {notificationsService},
	"readings-": {dataService, deviceRESTService}, "readings-check-state": {deviceRESTService}, "persist-data": {dataService, deviceRESTService}, "disk-readings-reserve": {dataService, deviceRESTService}, "resend-": {notificationsService}, "delivery-": {notificationsService}, "smtp-": {notificationsService}, "secret-uses": {notificationsService}, "name-server": {metadataService, notificationsService}, "outgoing-ca": {metadataService, notificationsService},
	"allow-binds": {notificationsService}, "allow-destinations": {metadataService, notificationsService}, "deny-destinations": {metadataService, notificationsService}, "hide-answers": {metadataService, notificationsService},
	"limit-json-bytes":    {metadataService, deviceRESTService, notificationsService},
	"max-result-count":    {metadataService, dataService, notificationsService},
	"limit-profile-bytes": {metadataService}, "strict-profile-": {metadataService}, "units-file": {metadataService}, "validate-units": {metadataService},
	"limit-resource-bytes": {deviceRESTService}, "limit-inline-bytes": {dataService, deviceRESTService},
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
