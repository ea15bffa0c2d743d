package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// nameLayout is the name of a backup in a folder of several, in UTC. By name, the oldest is the first.
const nameLayout = "ledge-20060102T150405Z.tar"

// ChooseName returns the file to write a backup to: to itself, or if some are kept, a name with the time in the folder to.
func ChooseName(to string, keep int, now time.Time) (string, error) {
	info, err := os.Stat(to)
	isFolder := err == nil && info.IsDir()
	switch {
	case keep < 0:
		return "", fmt.Errorf("--keep: %d backups cannot be kept; use a number of 1 or more", keep)
	case keep == 0 && isFolder:
		return "", fmt.Errorf("%s is a folder; name a new file, or use --keep to have one made there", to)
	case keep == 0:
		return to, nil
	case err != nil:
		return "", fmt.Errorf("--keep: %w; name a folder for the backups that is there", err)
	case !isFolder:
		return "", fmt.Errorf("--keep: %s is not a folder; name a folder for the backups", to)
	}
	return filepath.Join(to, now.UTC().Format(nameLayout)), nil
}

// partialAge is the age from which on the part of a backup is of a run that was killed.
const partialAge = 24 * time.Hour

// RemoveOld removes the oldest backups that [ChooseName] has named in the folder of the newest one, until keep are left, and the parts of
// such backups that are a day older. The newest one stays, also if the clock was set back. It returns the files that it has removed.
func RemoveOld(newest string, keep int) (removed []string, err error) {
	if keep == 0 {
		return nil, nil
	}
	dir, own := filepath.Split(newest)
	list, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	now, _ := time.Parse(nameLayout, own)
	var names, parts []string
	for _, e := range list {
		stem, isPart := strings.CutSuffix(e.Name(), partialSuffix)
		at, err := time.Parse(nameLayout, stem)
		switch {
		case err != nil || !e.Type().IsRegular() || e.Name() == own:
		case !isPart:
			names = append(names, e.Name())
		case at.Before(now.Add(-partialAge)):
			parts = append(parts, e.Name())
		}
	}
	slices.Sort(names)
	for _, name := range append(parts, names[:max(len(names)-(keep-1), 0)]...) {
		path := filepath.Join(dir, name)
		if gone := os.Remove(path); gone != nil {
			err = errors.Join(err, gone)
			continue
		}
		removed = append(removed, path)
	}
	return removed, err
}
