package datadir

// The files at the top of a data folder, beside the folders nats, payloads, snapshots and archive.
const (
	// SecretsFile has the secrets and the hashes of passwords and tokens.
	SecretsFile = "secrets.json"
	// AdminPasswordFile has the generated password of the first user until it is changed.
	AdminPasswordFile = "admin-password"
	// RetentionFile has the limits that an administrator has set in the console, made of the log of changes.
	RetentionFile = "retention.yaml"
	// AdminSocketFile is the Unix socket at which a running server answers local commands.
	AdminSocketFile = "admin.sock"
	// LoginsFile is in a folder that `ledge restore` or `ledge salvage` has made. It names the key that signs logins there, so that logins
	// of the folder it was copied from are not valid.
	LoginsFile = "logins"
	// RestoringFile is in a folder that `ledge restore` has not completed yet.
	RestoringFile = "restoring"
)

// StateFiles are the files of the projections, one for each stream: events, notifications, readings.
var StateFiles = []string{"state.db", "notifications.db", "readings.db"}
