/** The keyboard: when a key does what. */

const MOVES_ITSELF = /^(Arrow|Home|End|Page)/; // keys that a fader or a list uses

/**
 * @param acts functions by the name of a key; `digit` and `shiftDigit` are called with 1 to 9
 */
export function enableKeys(acts) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || document.querySelector("dialog[open]")) return;
    const { target } = event;
    const writing = target.closest?.("input[type=text], input[type=number], select, textarea");
    if (writing) return;
    if (MOVES_ITSELF.test(event.key) && target.closest?.("[type=range], [type=radio]")) return; // it moves that
    if ((event.key === " " || event.key === "Enter") && target.closest?.("button, a, summary, [type=checkbox]")) return;
    const act = actOf(event, acts);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function actOf({ key, code, ctrlKey, metaKey, shiftKey, repeat }, acts) {
  const letter = key.length === 1 ? key.toLowerCase() : key;
  if (ctrlKey || metaKey) {
    if (letter === "z") return shiftKey ? acts.Z : acts.z;
    return letter === "y" ? acts.Z : undefined;
  }
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(code)?.[1];
  if (digit) return repeat ? () => {} : () => (shiftKey ? acts.shiftDigit : acts.digit)(Number(digit));
  if (letter === "z") return shiftKey ? acts.Z : acts.z;
  if (repeat && [" ", "s", "m", "g", "o", "l"].includes(letter)) return () => {};
  return acts[shiftKey && MOVES_ITSELF.test(key) ? `Shift ${key}` : letter];
}
