import { findAll, make, onClick } from "./dom.js";
import { resolved } from "./levels.js";
import { dismiss, notice } from "./notices.js";
import { writeExport } from "./server.js";

const NO_GROUPS = "There are no groups yet: put components together first";

/**
 * The buttons that write files and start their download.
 *
 * @param current function that returns the TakeMix that is shown
 * @returns a function to call when its groups are others
 */
export function enableExports(current) {
  const buttons = findAll("[data-export]");
  const ofGroups = buttons.find(({ dataset }) => dataset.export === "groups");
  const { title } = ofGroups;
  let busy = false;
  const update = () => {
    const none = !current()?.groups.some(({ components }) => components.length);
    for (const button of buttons) button.disabled = busy || (button === ofGroups && none);
    ofGroups.title = none ? NO_GROUPS : title;
  };
  for (const button of buttons) {
    onClick(button, async () => {
      const mix = current();
      busy = true;
      update();
      button.classList.add("busy");
      dismiss("export");
      try {
        await mix.saving.send(); // the groups that are written are those that are shown
        const { address, name, message } = await writeExport(mix.take.id, button.dataset.export, resolved(mix.levels, mix.solos));
        const link = make("a", { href: address, download: name });
        link.click();
        notice(`${name}: ${message.replace(/\.$/, "")}.`, { name: "export", kind: "info" });
      } catch (error) {
        notice(error.message, { name: "export" });
      }
      busy = false;
      update();
      button.classList.remove("busy");
    });
  }
  return update;
}
