package limits

import (
	"os"
	"testing"

	"ledge/handlers/console/web/webtest"
)

func TestTemplateCallsNoMethod(t *testing.T) {
	webtest.CheckFields(t, map[string]any{"retention": data{}}, os.DirFS("../templates"), os.DirFS("../web/templates"))
}
