package transparency

import (
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"ledge/domain"
)

// entriesLevel is the level of a [Place] for bundles of entries.
const entriesLevel = -1

// Place names a tile or a bundle of entries.
type Place struct {
	Level int   // -1 for a bundle of entries
	N     int64 // the number in its level
	Width int   // 1 to 256; 256 is a full tile
}

// ParsePlace reads the path of a tile behind tile/, as C2SP tlog-tiles has it: <level>/<n>[.p/<width>], or entries/<n>[.p/<width>].
func ParsePlace(path string) (Place, error) {
	level, rest, _ := strings.Cut(path, "/")
	inPath := level
	if level == "entries" {
		inPath = "data"
	}
	t, err := tlog.ParseTilePath("tile/" + strconv.Itoa(height) + "/" + inPath + "/" + rest)
	if err != nil || level == "data" || t.L >= 64 || t.N < 0 {
		return Place{}, domain.Errorf(domain.NotFound,
			"%.80q is not a tile; write <level>/<n> or entries/<n>, with <n> as x001/x234/067, and .p/<width> behind a partial tile", path)
	}
	return Place{t.L, t.N, t.W}, nil
}
