package identities

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"ledge/cmd/internal/admin"
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

// mostPrinted is how many users and how many tokens PrintRestored lists.
const mostPrinted = 100

// PrintRestored lists the users and tokens that are valid again in a copy of a data folder.
func PrintRestored(w io.Writer, users []admin.User, tokens []admin.Token) {
	fmt.Fprintln(w, "no login from before is valid; passwords and tokens are as they were. Remove with `ledge user remove`, and revoke with `ledge token revoke`, those of these that were removed since:")
	for _, u := range users[:min(mostPrinted, len(users))] {
		fmt.Fprintf(w, "  user %s, %s\n", u.Name, u.Role)
	}
	for _, t := range tokens[:min(mostPrinted, len(tokens))] {
		fmt.Fprintf(w, "  token %s, %s\n", t.Name, t.Role)
	}
	if more := max(0, len(users)-mostPrinted) + max(0, len(tokens)-mostPrinted); more > 0 {
		fmt.Fprintf(w, "  and %d more; see `ledge user list` and `ledge token list`\n", more)
	}
}
