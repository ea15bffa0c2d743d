// Package config has the settings: their names, defaults, checks and documentation, and how they are read from flags, the environment and a
// file. Most packages below the server know their own options only.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ledge/bridge/guard"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/logging"
	"ledge/cmd/internal/services"
)

// Config is every setting. A setting has one name, in kebab case: "metadata-port" is the flag --metadata-port, the
// environment variable LEDGE_METADATA_PORT, and in the YAML file the key metadata-port, or port below metadata.
type Config struct {
	DataDir string

	Host            string                  // of the services whose ports have no host
	listen          map[string]*portAddress // by service
	NATSHost        string
	NATSPort        int
	EdgeXBus        edgexBus // ports of the message buses that are on
	BusMaxBytes     Size
	HubURL          texts
	NodeName        string
	AllowInsecure   bool
	AllowHosts      texts
	TrustedOrigins  texts
	TrustedProxies  texts
	Secure          bool
	Loopback        string
	TLSCert, TLSKey string
	TLSClientCA     string
	JWTIssuer       string
	JWTAudience     string
	JWTRoleClaim    string
	LogLevel        logLevel

	MaxBytes              Size
	DiskReserve           Size
	EventsMaxBytes        Size
	ArchiveDir            string
	NotificationsMaxBytes Size
	NotificationsMaxAge   time.Duration
	ReadingsMaxBytes      Size
	ReadingsMaxAge        time.Duration
	ReadingsRetention     Rules
	MaxResultCount        int
	StrictProfiles        texts
	PersistData           bool
	UnitsFile             string
	Registry              string
	Samples               bool
	DefaultProtocol       string
	EdgeXVersion          string

	AllowDestinations, DenyDestinations guard.Rules
	AllowBinds                          guard.Rules
	ResendLimit                         int
	ResendInterval                      time.Duration
	SMTPServer                          string

	file     string         // that the settings were read from
	unused   []string       // removed settings in the file that have their old defaults
	declared *pflag.FlagSet // all settings
	Groups   []Group        // the same settings, by topic
	wrong    []error        // of flags of a command
	checks   []settingCheck // of the settings whose type alone does not check them
}

// NewLogger returns a logger to w with the level of the settings.
func (c *Config) NewLogger(w io.Writer) *slog.Logger { return logging.New(w, c.LogLevel) }

// logLevel is the setting log-level. It may change while the program logs.
type logLevel struct{ *slog.LevelVar }

// Set implements pflag.Value.
func (l logLevel) Set(text string) error {
	if l.UnmarshalText([]byte(text)) != nil {
		return errors.New("use debug, info, warn or error")
	}
	return nil
}

// String implements pflag.Value.
func (l logLevel) String() string { return strings.ToLower(l.Level().String()) }

// Type implements pflag.Value.
func (l logLevel) Type() string { return "string" }

// Group are the settings of one topic, for the help and for the file of settings.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// The values of strict-profiles.
const (
	StrictChanges = "changes"
	StrictDeletes = "deletes"
)

func checkStrict(text string) error {
	if text != StrictChanges && text != StrictDeletes {
		return fmt.Errorf("%q is unknown; use changes, deletes or both", text)
	}
	return nil
}

// Strict reports whether the setting strict-profiles has a value.
func (c *Config) Strict(value string) bool { return slices.Contains(c.StrictProfiles.List, value) }

// leastEvents is the least share of max-bytes for events-max-bytes: two block files of the log.
const leastEvents = 16 << 20

// mostDiskReserve lets four times the reserve fit into an int64.
const mostDiskReserve = 1 << 50

// Paths returns the folders and files of the node.
func (c *Config) Paths() datadir.Paths {
	return datadir.Paths{Data: c.DataDir, ArchiveDir: c.ArchiveDir}
}

// ReadingsReserve is the free disk space below which readings are refused. It is four times that of changes, so that an operator can still
// change devices, and can remove readings, when readings have filled the disk.
func (c *Config) ReadingsReserve() Size { return 4 * c.DiskReserve }

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// check refuses values that no service could start with.
func (c *Config) check() error {
	var errs []error
	for _, one := range c.checks {
		if cure := one.cure(); cure != "" {
			value := cmp.Or(c.declared.Lookup(one.name).Value.String(), `""`)
			if u, err := url.Parse(value); err == nil && u.User != nil {
				value = u.Redacted() // no log shows a password
			}
			errs = append(errs, Fault{Setting: one.name, Value: value, Err: fmt.Errorf("setting %s: %s: %s", one.name, value, cure)})
		}
	}
	slices.SortStableFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) }) // each begins with its setting's name
	return errors.Join(errs...)
}

// partial are the settings, by how their names begin, that not all HTTP services have. The port of a service is another one.
var partial = map[string][]string{
	"notifications-": {services.Notifications}, "readings-": {services.Data, services.DeviceREST}, "persist-data": {services.Data, services.DeviceREST},
	"resend-": {services.Notifications}, "smtp-": {services.Notifications}, "allow-binds": {services.Notifications},
	"allow-destinations": {services.Metadata, services.Command, services.Notifications}, "deny-destinations": {services.Metadata, services.Command, services.Notifications},
	"max-result-count": {services.Metadata, services.Data, services.Command, services.Notifications},
	"strict-profiles":  {services.Metadata}, "units-file": {services.Metadata},
	"samples": {services.Metadata}, "default-protocol": {services.Metadata},
}

// InForce returns the settings of an HTTP service with their values, written as in a file of settings.
func (c *Config) InForce(service string) map[string]string {
	values := map[string]string{}
	c.declared.VisitAll(func(f *pflag.Flag) {
		for prefix, have := range partial {
			if strings.HasPrefix(f.Name, prefix) && !slices.Contains(have, service) {
				return
			}
		}
		for _, other := range services.REST() {
			if other.Name != service && f.Name == other.PortSetting() {
				return
			}
		}
		values[f.Name] = f.Value.String()
	})
	return values
}

// EnvName is the environment variable of a setting.
func EnvName(setting string) string {
	return "LEDGE_" + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}
