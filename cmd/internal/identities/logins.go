package identities

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"ledge/cmd/internal/datadir"
	"ledge/store/osfile"
	"ledge/store/secrets"
)

// RefuseOldLogins ends all logins of a data folder that is a copy: users may have been removed since.
func RefuseOldLogins(dir string) error {
	return osfile.Write(filepath.Join(dir, datadir.LoginsFile), []byte(rand.Text()+"\n"))
}

// FindLoginKey returns the name in the secret store of the key that signs logins of the data folder dir.
func FindLoginKey(dir string) (string, error) {
	name, err := osfile.Read(filepath.Join(dir, datadir.LoginsFile), secrets.MaxFileBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "login", nil
	case err != nil:
		return "", err
	}
	return "login-" + strings.TrimSpace(string(name)), nil
}
