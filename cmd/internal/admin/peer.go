package admin

import (
	"os"
	"os/user"
	"strconv"
)

// LocalActor returns the actor of what this process changes by itself, such as "cli:anna".
func LocalActor() string { return "cli:" + ownName() }

// ownName returns the name of the user that runs this process.
func ownName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return userName(os.Getuid())
}

// userName returns the name of a user of the system, or the number if the user has no name.
func userName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
